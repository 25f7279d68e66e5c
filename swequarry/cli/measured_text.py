"""Lines of `show` about the stability and the strength of a task's tests."""

from collections.abc import Callable

from swequarry.records import BlobHash, Task
from swequarry.report.measured import say_stability, say_strength, say_test, survivors
from swequarry.report.visible import visible

_DIFF_LINES = 30


def measured_lines(task: Task, get_blob: Callable[[BlobHash], bytes]) -> list[str]:
    """Return what is known of a task's tests: what they depend on, and which wrong fixes they let pass."""
    lines = [f"stability: {say_stability(task.stability)}"]
    if task.stability is not None:
        lines += [f"  {say_test(test)}" for test in task.stability.unstable]
        lines += [f"  nothing could be seen under {label}" for label in task.stability.spoilt]
    lines.append(f"strength: {say_strength(task.strength)}")
    if task.strength is None:
        return lines
    if task.strength.coverage is not None:
        lines += [f"  no test runs {path}:{line}" for path, line in task.strength.coverage.uncovered]
    for survivor in survivors(task.strength, get_blob):
        lines.append(f"  passes: {survivor.what} at {survivor.place}, {survivor.fate}")
        body = visible(survivor.diff).splitlines()
        lines += [f"    {line}" for line in body[:_DIFF_LINES]]
        if len(body) > _DIFF_LINES:
            lines.append(f"    and {len(body) - _DIFF_LINES} more lines; see the report")
    return lines

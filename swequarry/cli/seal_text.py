"""The seal of a task as lines for a person: what was checked, when, with which result."""

from collections.abc import Sequence
from datetime import UTC, datetime

from swequarry.ledger.attempts import Attempt, AttemptStatus
from swequarry.records import Task


def seal_lines(task: Task, attempts: Sequence[Attempt]) -> list[str]:
    """Return the lines; `attempts` are the item's, of which the last good one of stage `seal` says when."""
    seal = task.seal
    if seal is None:
        return ["seal: none; this task was made before worlds were searched, run the same command again"]
    done = [a for a in attempts if a.key.stage == "seal" and a.status is AttemptStatus.DONE]
    lines = [
        f"seal: {'sealed' if not seal.findings else f'{len(seal.findings)} findings'}, {_when(done)}",
        f"  looked for {seal.lines} lines, {seal.words} names, {seal.blocks} blocks of gold patch and tests",
    ]
    if done:
        seen = done[-1].observed
        lines.append(f"  in {seen.get('files', 0):,} files, {seen.get('size_bytes', 0) / 1e6:.1f} MB")
    lines += [f"  checked: {check}" for check in seal.checks]
    lines += [f"  FOUND {finding}" for finding in seal.findings]
    lines += [f"  not scanned (too large or damaged): {path}" for path in seal.not_scanned]
    return lines


def _when(done: Sequence[Attempt]) -> str:
    ended = done[-1].ended_at if done else None
    if ended is None:
        return "checked by an earlier run"
    return f"checked {datetime.fromtimestamp(ended, UTC):%Y-%m-%d %H:%M} UTC"

"""Which files a grader puts back before it runs a task's tests, whatever a solver did to them."""

from swequarry.records import Task


def restored_paths(task: Task) -> tuple[str, ...]:
    """Return the files of the test patch and the test files that are run, sorted; a wider scope runs more."""
    return tuple(sorted({*task.candidate.test_files, *task.verifier.test_files}))

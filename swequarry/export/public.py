"""The public fields of a task as records and rows have them: what readers of formats give back."""

from swequarry.export.interface import GetBlob, ImageReference, PublicTask
from swequarry.export.rows import Row, visible_text
from swequarry.records import Task, TestId


def public_of_row(row: Row) -> PublicTask:
    """Return the public fields of a row."""
    return PublicTask(
        instance_id=row.instance_id,
        repo=row.repo,
        base_commit=row.base_commit,
        problem_statement=row.problem_statement,
        patch=row.patch.encode(),
        test_patch=row.test_patch.encode(),
        fail_to_pass=row.fail_to_pass,
        pass_to_pass=row.pass_to_pass,
        image=row.image,
    )


def public_of_task(task: Task, get_blob: GetBlob, image: ImageReference | None) -> PublicTask:
    """Return the public fields of a task with every test id, whatever a log parser would make of it."""
    return PublicTask(
        instance_id=task.instance_id,
        repo=task.candidate.repo.full_name,
        base_commit=task.initial_state.base_commit,
        problem_statement=visible_text(task.instruction.text),
        patch=get_blob(task.candidate.gold_patch),
        test_patch=get_blob(task.verifier.test_patch),
        fail_to_pass=tuple(TestId(visible_text(test)) for test in task.verifier.fail_to_pass),
        pass_to_pass=tuple(TestId(visible_text(test)) for test in task.verifier.pass_to_pass),
        image=image.name if image else None,
    )

"""The public fields of a task as its row has them: what readers of formats give back."""

from swequarry.export.interface import PublicTask
from swequarry.export.rows import Row


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

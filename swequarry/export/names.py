"""Why a task can't be a folder of its own in formats that have one folder for each task."""

import re

from swequarry.export.interface import LeaveOutReason, LeftOut
from swequarry.export.selection import left_out
from swequarry.records import Task

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_folder_name(instance_id: str) -> bool:
    """Whether an id can be the name of a folder, of an image and of a test run."""
    return _NAME.fullmatch(instance_id) is not None


def no_name(task: Task) -> LeftOut:
    """Return the note that a task's id can't be a name."""
    detail = "its id can't be the name of a folder: letters, digits, dot, dash and underscore only"
    return left_out(task, LeaveOutReason.ID_IS_NO_NAME, detail)


def no_image(task: Task) -> LeftOut:
    """Return the note that the format needs an image and the task has none."""
    detail = (
        f"verified in {task.verification.backend} and no image is named; verify it with the docker sandbox, "
        "run `swequarry images build --json` or `images push --json`, and give its output with --images"
    )
    return left_out(task, LeaveOutReason.NO_IMAGE, detail)

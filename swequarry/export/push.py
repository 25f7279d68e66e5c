"""Pushes an exported folder to a Hugging Face dataset repository; only when it is asked for by name.

Needs the optional `huggingface-hub`. The token is the library's affair: HF_TOKEN, or its own login.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import RegistryDeniedError, RegistryError, UsageError
from swequarry.export.check import check_folder
from swequarry.export.manifest import describe_folder

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_REPOSITORY = re.compile(rf"{_PART}/{_PART}")
_DENIED = (401, 403)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPlan:
    """What a push would send: files and bytes, and where to."""

    repository: str
    private: bool
    files: tuple[str, ...]
    size_bytes: int


def plan_push(folder: Path, repository: str, *, private: bool) -> PushPlan:
    """Return what a push of a folder would send; nothing is contacted.

    Raises:
        UsageError: that is no name of a repository, or the folder has problems.
        InputError: the folder is no dataset.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"{repository!r} is no dataset repository: it's OWNER/NAME")
    problems = check_folder(folder).problems
    if problems:
        first = problems[0]
        raise UsageError(
            f"{folder} isn't pushed: {len(problems)} problems, the first is {first.path}: {first.problem}; "
            "see `swequarry check`"
        )
    files = describe_folder(folder)
    return PushPlan(
        repository=repository,
        private=private,
        files=tuple(file.path for file in files),
        size_bytes=sum(file.size_bytes for file in files),
    )


def push(folder: Path, plan: PushPlan) -> str:
    """Send a folder as one commit, files of an earlier one that it lacks removed; return its address.

    Raises:
        UsageError: huggingface-hub isn't installed.
        RegistryDeniedError: the token doesn't allow it.
        RegistryError: the hub can't be reached or refuses.
    """
    try:
        import huggingface_hub  # noqa: PLC0415  (optional)
        from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "pushing needs huggingface-hub: install swequarry[hub], or send the folder yourself"
        ) from error
    hub = huggingface_hub.HfApi()
    try:
        hub.create_repo(plan.repository, repo_type="dataset", private=plan.private, exist_ok=True)
        done = hub.upload_folder(
            repo_id=plan.repository,
            repo_type="dataset",
            folder_path=folder,
            allow_patterns=list(plan.files),
            delete_patterns="*",
            commit_message="Dataset written by SWEQuarry",
        )
    except HfHubHTTPError as error:
        refused = RegistryDeniedError if error.response.status_code in _DENIED else RegistryError
        raise refused(
            f"the hub refuses {plan.repository}: {error}; is HF_TOKEN set and may it write?"
        ) from error
    except OSError as error:
        raise RegistryError(f"can't push {plan.repository}: {error}") from error
    return str(done.commit_url)

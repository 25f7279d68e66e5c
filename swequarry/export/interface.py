"""What every dataset format is given and gives back.

An exporter turns tasks into a folder. It writes the folder whole or not at all, gives the same bytes for
the same tasks, and names in its manifest every task that it was given and didn't write, with the reason.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias

from swequarry.config import ExportSettings
from swequarry.records import BlobHash, ContentHash, Task, TestId

GetBlob: TypeAlias = Callable[[BlobHash], bytes]
"""Returns the bytes that a hash names; raises StorageError where they are gone or damaged."""


class LeaveOutReason(StrEnum):
    """Why a verified task isn't a row of the dataset."""

    STATEMENT_FROM_COMMITS = "statement_from_commits"
    PATCH_NOT_UTF8 = "patch_not_utf8"
    NO_FAIL_TO_PASS_SURVIVES_PARSER = "no_fail_to_pass_survives_parser"
    NO_IMAGE = "no_image"
    ID_IS_NO_NAME = "id_is_no_name"
    DEPRECATED = "deprecated"
    HOLDS_TEST_ANSWER = "holds_test_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A task that was given to an exporter and isn't a row, with the reason."""

    instance_id: str
    content_sha256: ContentHash
    reason: LeaveOutReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file of the dataset; `path` is relative to its folder, with slashes."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageReference:
    """The image in which a task was verified: how to pull it, and its digest where it has one."""

    name: str
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTask:
    """What every format tells of a task, whatever its files look like. Patches are bytes."""

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: bytes
    test_patch: bytes
    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    image: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelLine:
    """One line of the funnel that the card shows: what was counted, and how many."""

    label: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an exporter may tell beside the tasks. `images` is keyed by instance id.

    `deprecated` are tasks that stay out, by instance id, each with the reason for people. `split` is the name
    that cards give to the only split of a folder.
    """

    images: Mapping[str, ImageReference] = field(default_factory=dict)
    deprecated: Mapping[str, str] = field(default_factory=dict)
    split: str = "test"
    funnel: tuple[FunnelLine, ...] = ()


NOTHING_AROUND = Surroundings()


class Exporter(Protocol):
    """One dataset format."""

    @property
    def name(self) -> str:
        """The format's name on the command line."""

    def write(
        self,
        tasks: Sequence[Task],
        get_blob: GetBlob,
        destination: Path,
        settings: ExportSettings,
        surroundings: Surroundings = ...,
    ) -> tuple[ExportedFile, ...]:
        """Write the tasks as a dataset folder; an earlier dataset there is replaced whole.

        Returns the files in the folder, sorted by path, the manifest among them.

        Raises:
            InputError: two tasks share an id, or `destination` holds something that isn't a dataset.
            StorageError: a blob is missing, or the folder can't be written; what was there stays.
        """

    def read_back(self, folder: Path) -> tuple[PublicTask, ...]:
        """Return the public fields of the tasks in a folder that `write` wrote, sorted by instance id.

        What the tools of the format read is read, never the records beside it.

        Raises:
            InputError: a file of the format is missing or isn't what it should be; names it.
        """

    def problems(self, folder: Path) -> Iterable[tuple[str, str]]:
        """Return (path, what is wrong) for what the format's own reader would stumble over.

        Raises:
            InputError: a file can't be read at all.
        """

    def restore(self, folder: Path, path: str) -> Iterable[bytes]:
        """Return what the file at `path` may have held, as other files of the folder or the program say.

        The caller knows the file's hash and takes nothing else.
        """

"""The page of errors: one class per boundary, each with its exit code.

A message says what happened, why, and what to do next. Expected ends of a candidate are values
(`swequarry.outcome`), never exceptions; what is raised here means that a command, a setting or the
machinery is wrong.

Exit codes that belong to no error: 0 ok, 1 finished with findings, 3 nothing to do, 6 some items
failed and can be retried, 130 interrupted.
"""

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Exit codes of the command line, documented and stable."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    NOTHING_TO_DO = 3
    AUTH_OR_RATE_LIMIT = 4
    SANDBOX_UNAVAILABLE = 5
    PARTIAL = 6
    REFUSED_BY_POLICY = 7
    INTERNAL = 70
    INTERRUPTED = 130


class SwequarryError(Exception):
    """Base of all errors that a user may see; carries the exit code of its boundary."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL


class UsageError(SwequarryError):
    """A command, a setting or an input file is wrong; nothing was changed."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """The settings can't be read or hold an unknown or impossible value."""


class InputError(UsageError):
    """A file or folder named by the user is missing, empty or not what it should be."""


class RepositoryError(UsageError):
    """A repository is missing or is not a git repository."""


class GitError(SwequarryError):
    """A git command failed; carries its arguments, exit status and standard error."""

    def __init__(
        self, message: str, *, argv: tuple[str, ...] = (), status: int = -1, stderr: str = ""
    ) -> None:
        super().__init__(message)
        self.argv = argv
        self.status = status
        self.stderr = stderr


class ObjectMissingError(GitError):
    """A git object that was asked for isn't in the object store."""


class PatchError(SwequarryError):
    """A patch can't be parsed or doesn't apply to the tree it is meant for."""


class BinaryWithoutDataError(PatchError):
    """A patch names a binary change without carrying its data, so it can't be applied whole."""


class SandboxError(SwequarryError):
    """The sandbox broke: what it ran gives no verdict and may be retried."""


class SandboxUnavailableError(SandboxError):
    """No sandbox can be started on this machine; `swequarry doctor` says what is missing."""

    exit_code = ExitCode.SANDBOX_UNAVAILABLE


class WorldChangedError(SandboxError):
    """A world can't be built again from its lock: the index gives other content, whenever it's tried."""


class StorageError(SwequarryError):
    """The ledger or the blob store can't be read or written (no space, damaged, newer version)."""


class DiskFullError(StorageError):
    """No space is left where the ledger or the blobs lie: no new work is started until there is."""


class StorageLostError(StorageError):
    """The server that keeps the ledger or the blobs can't be reached now; the same call may work later."""

    exit_code = ExitCode.PARTIAL


class WorkerError(SwequarryError):
    """Worker processes can't be started or die before they take an item."""


class AccountingError(SwequarryError):
    """Items are missing from the books: in isn't accepted + rejected + failed."""


class IndexUnavailableError(SwequarryError):
    """The package index can't be reached or answers with errors; says nothing about a project."""


class RegistryError(SwequarryError):
    """A registry of images can't be reached or doesn't take an image; the same command may work later."""

    exit_code = ExitCode.PARTIAL


class RegistryDeniedError(RegistryError):
    """A registry wants other credentials than the engine has."""

    exit_code = ExitCode.AUTH_OR_RATE_LIMIT


class SourceError(SwequarryError):
    """A source of pull requests can't be reached or gives broken answers; the same command may work later."""

    exit_code = ExitCode.PARTIAL


class SourceGoneError(SourceError):
    """What was asked for isn't there: removed, renamed away, private or blocked. Carries the HTTP status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class SourceRefusedError(SourceError):
    """A source won't answer this, whenever it's asked."""


class AuthenticationError(SwequarryError):
    """A source wants a token and there is none, or none that it accepts."""

    exit_code = ExitCode.AUTH_OR_RATE_LIMIT


class ModelUnavailableError(SwequarryError):
    """A language model can't be reached, is too slow or answers with errors; says nothing about a task."""

    exit_code = ExitCode.PARTIAL


class ModelDeniedError(ModelUnavailableError):
    """A language model's server wants another key, or doesn't know the model."""

    exit_code = ExitCode.AUTH_OR_RATE_LIMIT


class RefusedByPolicyError(SwequarryError):
    """The settings forbid what was asked for."""

    exit_code = ExitCode.REFUSED_BY_POLICY

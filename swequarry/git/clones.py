"""Our clones in the cache: which are in use, what they weigh, and which go when they weigh too much.

A clone is in use while a process holds a shared lock on a file of its name; the system gives the lock back
when the process dies. Who removes a clone needs the lock for itself alone. Times of the lock files tell which
clone was used last. Of a removed clone its refs stay, so that it can be said whether anything changed since.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from swequarry.errors import GitError
from swequarry.git.repository import Repository
from swequarry.git.run import Place, run_git

OURS = "swequarry-clone"
"""Marker file of the clones that we made: only they are ever fetched into, or removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clones:
    """The clones of a folder, `owner+name.git` each; at most `budget_bytes` together, unless in use."""

    folder: Path
    budget_bytes: int | None = None
    _held: dict[str, int] = field(default_factory=dict, repr=False)

    def path(self, name: str) -> Path:
        """Return where the clone of `owner+name` lies, or would."""
        return self.folder / f"{name}.git"

    def hold(self, name: str) -> None:
        """Keep a clone from being removed until `release`, and note that it was used now."""
        self._beside.mkdir(parents=True, exist_ok=True)
        if name not in self._held:
            lock = os.open(self._lock(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(lock, fcntl.LOCK_SH)
            self._held[name] = lock
        os.utime(self._lock(name))

    def release(self) -> None:
        """Let all clones go that this object holds."""
        for lock in self._held.values():
            os.close(lock)
        self._held.clear()

    def make_room(self) -> tuple[str, ...]:
        """Remove the clones that weren't used for longest until the rest fits; return their names.

        One that is in use stays, even where the rest doesn't fit then.
        """
        if self.budget_bytes is None:
            return ()
        ours = [path for path in self.folder.glob("*.git") if (path / OURS).is_file()]
        sizes = {path: size_of(path) for path in ours}
        removed = []
        for path in sorted(ours, key=self._used_at):
            if sum(sizes.values()) <= self.budget_bytes:
                break
            if path.stem not in self._held and self._remove(path):
                removed.append(path.stem)
                del sizes[path]
        return tuple(removed)

    def refs(self, name: str) -> bytes | None:
        """Return the refs that a removed clone had, as `refs_of` gives them; None where none was removed."""
        with suppress(OSError):
            return self._refs(name).read_bytes()
        return None

    @property
    def _beside(self) -> Path:
        """The folder of locks and refs, beside that of the clones."""
        return self.folder.with_name(f"{self.folder.name}.use")

    def _lock(self, name: str) -> Path:
        return self._beside / f"{name}.lock"

    def _refs(self, name: str) -> Path:
        return self._beside / f"{name}.refs"

    def _used_at(self, path: Path) -> tuple[float, str]:
        try:
            return self._lock(path.stem).stat().st_mtime, path.name
        except OSError:
            return 0.0, path.name

    def _remove(self, path: Path) -> bool:
        self._beside.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._lock(path.stem), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            used_at = self._used_at(path)[0]
            fresh = self._beside / f"{path.stem}.refs.{os.getpid()}"
            fresh.write_bytes(refs_of(Repository.open(path)))
            fresh.rename(self._refs(path.stem))
            grave = Path(tempfile.mkdtemp(prefix=".removed-", dir=self.folder))
            path.rename(grave / path.name)
            shutil.rmtree(grave, ignore_errors=True)
            os.utime(self._lock(path.stem), (used_at, used_at))
        except (OSError, GitError):
            return False
        finally:
            os.close(lock)
        return True


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder, as they are on disk."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118 - thousands
    return total


def refs_of(repository: Repository) -> bytes:
    """Return the commit of HEAD and all refs, one a line.

    Raises:
        GitError: they can't be listed.
    """
    head = repository.git(["rev-parse", "--verify", "--quiet", "HEAD"], allowed=(0, 1, 128))
    return head + repository.git(["for-each-ref", "--format=%(objectname) %(refname)"])


def make_partial(clone: Path, url: str) -> None:
    """Let an empty repository know that its blobs are to be had at a URL (git's partial clone).

    Raises:
        GitError: git can't.
    """
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": url,
        "remote.origin.promisor": "true",
        "remote.origin.partialCloneFilter": "blob:none",
    }
    for name, value in settings.items():
        run_git(["config", name, value], Place(git_dir=clone))


def is_partial(repository: Repository) -> bool:
    """Whether a repository is a partial clone of ours, which may be completed."""
    if not (repository.path / OURS).exists():
        return False
    named = repository.git(["config", "--get", "extensions.partialClone"], allowed=(0, 1))
    return named.strip() == b"origin"


def fetch_objects(repository: Repository, shas: list[str]) -> None:
    """Bring objects into a partial clone, in one go, as git itself does when it needs them.

    Raises:
        GitError: the server doesn't give them.
    """
    command = ["-c", "fetch.negotiationAlgorithm=noop", "fetch", "origin", "--quiet", "--no-tags"]
    command += ["--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin"]
    asked = "".join(f"{sha}\n" for sha in shas).encode("ascii")
    run_git(command, Place(git_dir=repository.path, network=True), stdin=asked)

"""Objects that a partial mirror lacks and that were found elsewhere: a store of our own beside it.

The mirror is never written. The store sees the mirror's objects through an alternate, so whoever reads
through it sees both. An object is named by its hash, so it doesn't matter where its bytes came from.
"""

import dataclasses
import os
import tempfile
from pathlib import Path

from swequarry.git.repository import Repository
from swequarry.git.run import Place, run_git
from swequarry.git.store import make_store


class Supplement:
    """The store that completes one repository; safe for several processes."""

    def __init__(self, folder: Path, repository: Repository) -> None:
        self._folder = folder
        self._repository = repository

    def complete(self) -> Repository:
        """Return the repository, completed where anything was ever added."""
        if not self._folder.is_dir():
            return self._repository
        return dataclasses.replace(self._repository, supplement=self._folder)

    def add(self, data: bytes) -> str:
        """Store a blob and return its id.

        From a file, git puts a large one into a pack at once, from where snapshots copy it as it is.

        Raises:
            GitError: it can't be written.
        """
        if not self._folder.is_dir():
            self._make()
        place = Place(git_dir=self._folder)
        with tempfile.NamedTemporaryFile(dir=self._folder) as file:
            file.write(data)
            file.flush()
            command = ["hash-object", "-w", "--no-filters", "--", file.name]
            return run_git(command, place).decode("ascii").strip()

    def _make(self) -> None:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{self._folder.name}.", dir=self._folder.parent) as scratch:
            store = Path(scratch) / "store"
            make_store(store, self._repository.common / "objects")
            try:
                store.rename(self._folder)
            except OSError:
                if not os.path.isdir(self._folder):  # noqa: PTH112 - another process may have made it
                    raise

"""Copies of remote blobs on this machine, within a budget: those that weren't used for longest go first."""

import contextlib
import os
from dataclasses import dataclass

from swequarry.errors import DiskFullError, StorageError
from swequarry.ledger.blobs import BlobStore
from swequarry.records import BlobHash

_LOOKS = 32
"""How often a budget's worth of bytes is looked at while it is written: the cache may be over by one look."""
_KEPT = 0.8
"""The share of the budget that stays, so that not every blob asks for room."""


@dataclass(slots=True)
class BlobCache:
    """A store of copies with a budget in bytes; processes of one machine share it.

    It never fails: what can't be kept isn't, and what is damaged is thrown away.
    """

    store: BlobStore
    budget_bytes: int
    _unseen_bytes: int = 0

    def get(self, name: BlobHash) -> bytes | None:
        """Return a copy, verified, and note that it was used; None if there is none."""
        path = self.store.path_of(name)
        if not path.is_file():
            return None
        try:
            data = self.store.get(name)
            os.utime(path)
        except (StorageError, OSError):
            with contextlib.suppress(StorageError):
                self.store.delete(name)
            return None
        return data

    def has(self, name: BlobHash) -> bool:
        """Whether a copy is here."""
        return self.store.has(name)

    def keep(self, data: bytes) -> None:
        """Keep a copy if there is room."""
        if len(data) > self.budget_bytes * _KEPT:
            return
        try:
            self.store.put(data)
        except DiskFullError:
            self._shrink(0)
        except StorageError:
            return
        self._unseen_bytes += len(data)
        if self._unseen_bytes > self.budget_bytes / _LOOKS:
            self._unseen_bytes = 0
            self._shrink(int(self.budget_bytes * _KEPT))

    def _shrink(self, to_bytes: int) -> None:
        """Delete the copies that weren't used for longest where the budget is overdrawn, or all."""
        with contextlib.suppress(StorageError):
            found = sorted(self.store.iterate(), key=lambda blob: blob.touched_at, reverse=True)
            held = sum(blob.size_bytes for blob in found)
            if to_bytes and held <= self.budget_bytes:
                return
            while found and held > to_bytes:
                oldest = found.pop()
                self.store.delete(oldest.name)
                held -= oldest.size_bytes

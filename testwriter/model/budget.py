"""What may be spent on a language model: for a task, and for a run over all of its processes.

The worst that a question can cost is set aside before it is asked, so that workers who ask at once can't
overdraw together; what wasn't needed is given back afterwards. A worker that dies in between gives nothing
back: better unspent than overspent.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from swequarry.errors import StorageError
from testwriter.model.exchange import Usage


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens, and US dollars where prices are known (else 0)."""

    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: "Cost", sign: int = 1) -> "Cost":
        """Return the sum, or with `sign` -1 the difference."""
        return Cost(self.tokens + sign * other.tokens, self.usd + sign * other.usd)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    input: float = 0.0
    output: float = 0.0

    def of(self, usage: Usage) -> Cost:
        """Return what an exchange costs."""
        usd = (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6
        return Cost(usage.total, usd)


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that may be spent; None is no bound."""

    tokens: int | None = None
    usd: float | None = None

    def allows(self, cost: Cost) -> bool:
        """Whether so much may have been spent."""
        return (self.tokens is None or cost.tokens <= self.tokens) and (
            self.usd is None or cost.usd <= self.usd
        )


class Purse(Protocol):
    """Something that money is taken from."""

    def take(self, cost: Cost) -> bool:
        """Set a cost aside; False, and nothing taken, where the limit doesn't allow it."""
        ...

    def give_back(self, cost: Cost) -> None:
        """Return what wasn't needed."""
        ...


@dataclass(slots=True)
class TaskPurse:
    """The budget of one task, in one process."""

    limit: Limit
    spent: Cost = field(default_factory=Cost)

    def take(self, cost: Cost) -> bool:
        """Set a cost aside; see `Purse`."""
        after = self.spent.plus(cost)
        if not self.limit.allows(after):
            return False
        self.spent = after
        return True

    def give_back(self, cost: Cost) -> None:
        """Return what wasn't needed."""
        self.spent = self.spent.plus(cost, -1)


@dataclass(frozen=True, slots=True)
class RunPurse:
    """The budget of a run, in a file that its processes share: `tokens dollars` of all that was taken."""

    limit: Limit
    path: Path

    def take(self, cost: Cost) -> bool:
        """Set a cost aside; see `Purse`.

        Raises:
            StorageError: the file can't be read or written.
        """
        with self._open() as handle:
            after = _read(handle, self.path).plus(cost)
            if not self.limit.allows(after):
                return False
            _write(handle, after)
            return True

    def give_back(self, cost: Cost) -> None:
        """Return what wasn't needed.

        Raises:
            StorageError: the file can't be read or written.
        """
        with self._open() as handle:
            _write(handle, _read(handle, self.path).plus(cost, -1))

    @property
    def spent(self) -> Cost:
        """What was spent so far, or is set aside."""
        with self._open() as handle:
            return _read(handle, self.path)

    @contextmanager
    def _open(self) -> Iterator[int]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError(f"can't open the spending of a run {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)


def _read(handle: int, path: Path) -> Cost:
    words = os.pread(handle, 200, 0).split()
    if not words:
        return Cost()
    try:
        return Cost(int(words[0]), float(words[1]))
    except (ValueError, IndexError) as error:
        raise StorageError(f"{path} doesn't hold what was spent; delete it to start from nothing") from error


def _write(handle: int, cost: Cost) -> None:
    line = f"{cost.tokens} {cost.usd:.9f}\n".encode("ascii")
    os.pwrite(handle, line.ljust(100), 0)  # always as long, so that a shorter one leaves no rest

"""Map stages: one input, some outcomes, memoised in the ledger.

A stage knows neither workers nor the ledger. What it raises is broken machinery and becomes a Failed of the
boundary that broke, tried again a bounded number of times; it never becomes a verdict about the item.
"""

import logging
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from swequarry.errors import (
    AuthenticationError,
    DiskFullError,
    GitError,
    IndexUnavailableError,
    ModelUnavailableError,
    PatchError,
    RepositoryError,
    SandboxError,
    SourceError,
    StorageError,
    StorageLostError,
)
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.blobs import Blobs, is_disk_full
from swequarry.ledger.keys import StageKey, StoredOutcome, first_failure, outcome_to_json
from swequarry.ledger.ledger import Ledger
from swequarry.outcome import Boundary, Failed
from swequarry.records import BlobHash, ContentHash, canonical_json

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageItem(Generic[T_co]):
    """What a stage works on: its key in logs and books, the hash of all that it is, and the value."""

    key: str
    input_hash: ContentHash
    value: T_co


@dataclass(frozen=True, slots=True, kw_only=True)
class StageContext:
    """What a stage may use beside its item. `observe` is for what two runs needn't agree on."""

    blobs: Blobs
    log: logging.Logger
    observed: dict[str, Any] = field(default_factory=dict)

    def observe(self, **values: Any) -> None:
        """Keep durations, sizes of the moment and the like beside the result; JSON values."""
        self.observed.update(values)


class Stage(Protocol[T_contra]):
    """A map stage. `version` changes when the same input may now end in another way."""

    @property
    def name(self) -> str:
        """The name of the stage in the ledger."""

    @property
    def version(self) -> int:
        """The version of what the stage does."""

    @property
    def settings_hash(self) -> ContentHash:
        """The hash of the settings that change what comes out (`config.meaning_of`)."""

    def run(self, item: StageItem[T_contra], context: StageContext) -> Sequence[StoredOutcome]:
        """Return how each item that this input gives ended; each item once, in an order that is repeatable.

        Raises:
            GitError, SandboxError, IndexUnavailableError, StorageError, OSError: the machinery broke.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """Outcomes of a stage. Not `final`: it failed and may be tried again. `memoised`: nothing was done."""

    key: StageKey
    outcomes: tuple[StoredOutcome, ...]
    final: bool
    memoised: bool


_BOUNDARIES: tuple[tuple[type[Exception], Boundary], ...] = (
    (PatchError, Boundary.INTERNAL),
    (GitError, Boundary.GIT),
    (RepositoryError, Boundary.GIT),
    (SandboxError, Boundary.SANDBOX),
    (IndexUnavailableError, Boundary.INDEX),
    (SourceError, Boundary.SOURCE),
    (AuthenticationError, Boundary.SOURCE),
    (ModelUnavailableError, Boundary.MODEL),
    (StorageError, Boundary.STORAGE),
)


def failure_of(error: Exception) -> Failed:
    """Return the boundary that an exception says was broken, with its message."""
    message = str(error) or "no message"
    if is_disk_full(error):
        return Failed(boundary=Boundary.STORAGE, message=f"no space left: {message}")
    boundary = next((place for kind, place in _BOUNDARIES if isinstance(error, kind)), Boundary.INTERNAL)
    if boundary is Boundary.INTERNAL:
        message = f"{type(error).__name__}: {message}"
    return Failed(boundary=boundary, message=message)


def run_stage(
    stage: Stage[T], item: StageItem[T], ledger: Ledger, blobs: Blobs, *, max_attempts: int
) -> StageResult:
    """Return the stored result, or run the stage once and store what is final.

    Final is what was accepted, rejected or can't be retried, and a retryable failure at the last attempt.
    One call makes one attempt; call again for the next.

    Raises:
        DiskFullError: no space is left; nothing is stored, and the attempt doesn't count.
        StorageLostError: the server of ledger or blobs stays away; the same holds.
        StorageError: the ledger can't be used.
    """
    key = StageKey(
        stage=stage.name,
        version=stage.version,
        input_hash=item.input_hash,
        settings_hash=stage.settings_hash,
    )
    known = ledger.result(key)
    if known is not None:
        return StageResult(key=key, outcomes=known, final=True, memoised=True)
    return _Attempt(ledger, blobs, key, item.key, max_attempts).make(stage, item)


def _best_effort_log(blobs: Blobs, text: str) -> BlobHash | None:
    try:
        return blobs.put(text.encode("utf-8", "backslashreplace"))
    except StorageError:
        return None


@dataclass(frozen=True, slots=True)
class _Attempt:
    ledger: Ledger
    blobs: Blobs
    key: StageKey
    item: str
    max_attempts: int

    def make(self, stage: Stage[T], item: StageItem[T]) -> StageResult:
        log = logging.getLogger(f"swequarry.stage.{stage.name}")
        context = StageContext(blobs=self.blobs, log=log)
        number = self.ledger.begin_attempt(self.key, self.item)
        started = time.monotonic()
        crash: BlobHash | None = None
        try:
            outcomes = tuple(stage.run(item, context))
            _check(outcomes)
        except Exception as error:
            if is_disk_full(error):
                self._stop(number, "no space left")
                raise DiskFullError(
                    f"no space left while {stage.name} worked on {self.item}: {error}"
                ) from error
            if isinstance(error, StorageLostError):
                self._stop(number, str(error))
                raise
            log.exception("stage %s broke on %s", stage.name, self.item)
            crash = _best_effort_log(self.blobs, traceback.format_exc())
            outcomes = (StoredOutcome(item=self.item, outcome=failure_of(error)),)
        except BaseException:
            self._stop(number, "stopped before its end")
            raise
        observed = {**context.observed, "duration_s": round(time.monotonic() - started, 3)}
        return self._settle(number, outcomes, observed, crash)

    def _settle(
        self,
        number: int,
        outcomes: tuple[StoredOutcome, ...],
        observed: Mapping[str, Any],
        crash: BlobHash | None,
    ) -> StageResult:
        failed = first_failure(outcomes)
        end = AttemptEnd(
            status=AttemptStatus.FAILED if failed else AttemptStatus.DONE,
            boundary=failed.boundary if failed else None,
            message=failed.message if failed else None,
            log=crash,
            observed=observed,
        )
        if failed and failed.retryable and self.ledger.failures(self.key) + 1 < self.max_attempts:
            self.ledger.end_attempt(number, end)
            return StageResult(key=self.key, outcomes=outcomes, final=False, memoised=False)
        kept = self.ledger.record(self.key, outcomes, attempt=number, end=end)
        return StageResult(key=self.key, outcomes=kept, final=True, memoised=False)

    def _stop(self, number: int, why: str) -> None:
        try:
            self.ledger.end_attempt(number, AttemptEnd(status=AttemptStatus.STOPPED, message=why))
        except StorageError:
            logging.getLogger("swequarry.stage").warning("the end of an attempt isn't in the ledger")


def _check(outcomes: Sequence[StoredOutcome]) -> None:
    """Find out here, where it is one item's failure, what the ledger would refuse."""
    seen: set[str] = set()
    for stored in outcomes:
        if stored.item in seen:
            raise ValueError(f"item {stored.item} ended twice; every item ends once")
        seen.add(stored.item)
        canonical_json(outcome_to_json(stored.outcome))

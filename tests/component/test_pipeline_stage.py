import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from swequarry.errors import (
    DiskFullError,
    GitError,
    IndexUnavailableError,
    ObjectMissingError,
    PatchError,
    RepositoryError,
    SandboxError,
    SandboxUnavailableError,
    StorageError,
)
from swequarry.ledger.attempts import AttemptStatus
from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.runs import balance
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.pipeline.stage import StageContext, StageItem, StageResult, run_stage
from swequarry.records import ContentHash, sha256_hex

LIMIT = 3
LEAK = Rejected(code=RejectCode.LEAK, message="m")


@dataclass
class Bench:
    """A workspace, and a stage in it that does what a test tells it to."""

    ledger: Ledger
    blobs: BlobStore
    calls: list[str] = field(default_factory=list)

    def run(
        self,
        do: Callable[[StageContext], Sequence[StoredOutcome]],
        item: str = "x",
        *,
        name: str = "verify",
        version: int = 1,
        settings: str = "0",
        limit: int = LIMIT,
    ) -> StageResult:
        calls = self.calls

        class Told:
            def run(self, item: StageItem[str], context: StageContext) -> Sequence[StoredOutcome]:
                calls.append(item.key)
                return do(context)

        stage = Told()
        stage.name, stage.version, stage.settings_hash = name, version, ContentHash(settings * 64)
        subject = StageItem(key=item, input_hash=ContentHash(sha256_hex(item.encode())), value=item)
        return run_stage(stage, subject, self.ledger, self.blobs, max_attempts=limit)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(Ledger.open(tmp_path / "ledger.sqlite"), BlobStore(tmp_path / "blobs"))


def accept(_context: StageContext) -> list[StoredOutcome]:
    return [StoredOutcome(item="x", outcome=Accepted(value={"n": 1}))]


def reject(_context: StageContext) -> list[StoredOutcome]:
    return [StoredOutcome(item="x", outcome=LEAK)]


def breaks(error: BaseException) -> Callable[[StageContext], list[StoredOutcome]]:
    def run(_context: StageContext) -> list[StoredOutcome]:
        raise error

    return run


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def sandbox_without_space() -> SandboxError:
    error = SandboxError("can't make the copy")
    error.__cause__ = full()
    return error


@pytest.mark.parametrize("do", [accept, reject])
def test_finished_work_is_never_done_again(bench: Bench, do: Callable[..., Sequence[StoredOutcome]]) -> None:
    first, second = bench.run(do), bench.run(breaks(AssertionError("ran again")))
    assert (first.final, first.memoised, second.final, second.memoised) == (True, False, True, True)
    assert first.outcomes == second.outcomes
    assert bench.calls == ["x"]


@pytest.mark.parametrize(
    "error, boundary",
    [
        (GitError("g"), Boundary.GIT),
        (ObjectMissingError("g"), Boundary.GIT),
        (RepositoryError("g"), Boundary.GIT),
        (SandboxError("s"), Boundary.SANDBOX),
        (SandboxUnavailableError("s"), Boundary.SANDBOX),
        (IndexUnavailableError("i"), Boundary.INDEX),
        (StorageError("b"), Boundary.STORAGE),
        (PatchError("p"), Boundary.INTERNAL),
        (OSError(errno.EIO, "io"), Boundary.INTERNAL),
        (ValueError(), Boundary.INTERNAL),
        (MemoryError(), Boundary.INTERNAL),
        (KeyError("k"), Boundary.INTERNAL),
    ],
)
def test_broken_machinery_is_a_failure_of_its_boundary_not_a_verdict(
    bench: Bench, error: Exception, boundary: Boundary
) -> None:
    result = bench.run(breaks(error))
    (stored,) = result.outcomes
    assert isinstance(stored.outcome, Failed)
    assert (stored.item, stored.outcome.boundary, stored.outcome.retryable) == ("x", boundary, True)
    assert (str(error) or type(error).__name__) in stored.outcome.message
    assert bench.ledger.result(result.key) is None
    (attempt,) = bench.ledger.attempts(result.key)
    assert (attempt.status, attempt.boundary) == (AttemptStatus.FAILED, boundary)
    assert attempt.log is not None
    traceback = bench.blobs.get(attempt.log).decode()
    assert type(error).__name__ in traceback
    assert "test_pipeline_stage.py" in traceback


def test_failure_is_tried_again_a_bounded_number_of_times(bench: Bench) -> None:
    results = [bench.run(breaks(IndexUnavailableError("429"))) for _ in range(LIMIT + 2)]
    assert [(result.final, result.memoised) for result in results] == [
        (False, False),
        (False, False),
        (True, False),
        (True, True),
        (True, True),
    ]
    assert len(bench.calls) == LIMIT
    assert results[-1].outcomes == results[0].outcomes


def test_failure_that_heals_leaves_no_trace_in_the_result(bench: Bench) -> None:
    bench.run(breaks(IndexUnavailableError("429")))
    healed = bench.run(accept)
    assert (healed.final, healed.outcomes) == (True, tuple(accept(StageContext)))  # type: ignore[arg-type]
    assert [a.status for a in bench.ledger.attempts(healed.key)] == [AttemptStatus.FAILED, AttemptStatus.DONE]


def test_failure_that_a_stage_returns_is_bounded_like_one_that_it_raises(bench: Bench) -> None:
    failed = Failed(boundary=Boundary.SANDBOX, message="killed")

    def some_fail(_context: StageContext) -> list[StoredOutcome]:
        return [
            StoredOutcome(item="a", outcome=Accepted(value={})),
            StoredOutcome(item="b", outcome=failed),
        ]

    results = [bench.run(some_fail) for _ in range(LIMIT + 1)]
    assert [result.final for result in results] == [False, False, True, True]
    assert len(bench.calls) == LIMIT
    assert bench.ledger.attempts(results[0].key)[0].boundary is Boundary.SANDBOX


def test_final_failure_is_not_tried_again(bench: Bench) -> None:
    failed = Failed(boundary=Boundary.WORKER, message="poison", retryable=False)
    result = bench.run(lambda _context: [StoredOutcome(item="x", outcome=failed)])
    assert (result.final, bench.run(accept).outcomes) == (True, result.outcomes)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(1)])
def test_stop_is_never_swallowed_and_never_counted(bench: Bench, stop: BaseException) -> None:
    for _ in range(LIMIT + 1):
        with pytest.raises(type(stop)):
            bench.run(breaks(stop))
    result = bench.run(accept)
    assert (result.final, result.memoised) == (True, False)
    assert {a.status for a in bench.ledger.attempts(result.key)} == {
        AttemptStatus.STOPPED,
        AttemptStatus.DONE,
    }


@pytest.mark.parametrize("error", [full(), DiskFullError("no space"), sandbox_without_space()])
def test_full_disk_stops_the_work_and_costs_the_item_no_attempt(bench: Bench, error: Exception) -> None:
    for _ in range(LIMIT + 1):
        with pytest.raises(DiskFullError, match="no space left while verify worked on x"):
            bench.run(breaks(error))
    assert bench.run(accept).final


def test_stage_that_ends_an_item_twice_is_broken_not_obeyed(bench: Bench) -> None:
    result = bench.run(lambda context: [*accept(context), *reject(context)])
    assert isinstance(result.outcomes[0].outcome, Failed)
    assert result.outcomes[0].outcome.boundary is Boundary.INTERNAL


def test_value_that_cannot_be_stored_is_a_failure_of_ours(bench: Bench) -> None:
    bad = StoredOutcome(item="x", outcome=Accepted(value={"n": float("nan")}))
    result = bench.run(lambda _context: [bad])
    assert isinstance(result.outcomes[0].outcome, Failed)
    assert bench.ledger.result(result.key) is None


def test_what_a_stage_observes_is_kept_beside_its_result(bench: Bench) -> None:
    def observing(context: StageContext) -> list[StoredOutcome]:
        context.observe(peak_bytes=7, tries=["a"])
        return accept(context)

    result = bench.run(observing)
    (attempt,) = bench.ledger.attempts(result.key)
    assert {**attempt.observed, "duration_s": 0} == {"duration_s": 0, "peak_bytes": 7, "tries": ["a"]}


def test_new_version_or_setting_redoes_only_its_own_stage(bench: Bench) -> None:
    for name in ("mine", "verify"):
        bench.run(accept, name=name)
    bench.calls.clear()
    bench.run(accept, name="mine")
    bench.run(accept, name="verify", version=2)
    bench.run(accept, name="verify", version=2, settings="1")
    bench.run(accept, name="verify", version=1, settings="0")
    assert len(bench.calls) == 2
    assert bench.ledger.result(bench.run(accept, name="mine").key) is not None


def test_resume_retries_what_broke_and_keeps_what_was_decided(bench: Bench) -> None:
    """B075: ok, rejected, infra_error, started without result, absent; the same command, then a larger one."""
    bench.run(accept, "ok")
    bench.run(reject, "rejected")
    for _ in range(LIMIT):
        bench.run(breaks(IndexUnavailableError("429 Too Many Requests")), "infra")
    bench.ledger.begin_attempt(
        StageKey(
            stage="verify",
            version=1,
            input_hash=ContentHash(sha256_hex(b"started")),
            settings_hash=ContentHash("0" * 64),
        ),
        "started",
    )
    bench.calls.clear()
    command = ["ok", "rejected", "infra", "started", "absent"]

    def again(selection: list[str]) -> None:
        bench.ledger.reopen_failed()
        run = bench.ledger.save_run({}, selection)
        for item in selection:
            (stored,) = bench.run(accept, item).outcomes
            bench.ledger.settle(run, "verify", StoredOutcome(item=item, outcome=stored.outcome))
        account = balance(bench.ledger.selection(run), bench.ledger.endings(run))
        assert (account.rejected, account.failed) == (("rejected",), ())
        assert account.total == len(selection)

    again(command)
    assert bench.calls == ["infra", "started", "absent"]
    again([*command, "larger"])
    assert bench.calls == ["infra", "started", "absent", "larger"]

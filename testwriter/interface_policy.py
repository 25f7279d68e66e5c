"""What becomes of demands that nobody wrote down: told, kept quiet, their tests dropped, or rejected."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from swequarry.outcome import RejectCode, Rejected
from swequarry.records import TestId
from swequarry.records.interface import Demand, DemandKind, InterfaceAction, InterfaceRecord
from swequarry.verify.testsource import file_of, function_name

Policy = Literal["add", "keep", "drop", "reject"]
HEADING = "## Interface"
_INTRODUCTION = "Names and texts that a solution must have exactly as written here:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the policy says of a task; `rejected` is set where the task ends here."""

    record: InterfaceRecord
    rejected: Rejected | None = None


def block_of(demands: Sequence[Demand]) -> str:
    """Return the interface block as Markdown; empty without demands."""
    lines = dict.fromkeys(_line(demand) for demand in demands)  # a new keyword is a name and a parameter
    return "\n".join([HEADING, "", _INTRODUCTION, "", *lines]) if lines else ""


def decide(demands: Sequence[Demand], fail_to_pass: Collection[TestId], policy: Policy) -> Decision:
    """Return what a policy makes of the demands of a task's tests.

    Only demands of FAIL_TO_PASS tests count: what no such test asks for, a solver needn't know. Where `drop`
    would leave no test, the task is rejected.
    """
    paths = {test.partition("::")[0] for demand in demands for test in demand.tests}
    wanted = {_function(test, paths) for test in fail_to_pass}
    asked = tuple(demand for demand in demands if any(_plain(test) in wanted for test in demand.tests))
    if not asked:
        return Decision(record=InterfaceRecord(policy=policy, action=InterfaceAction.NONE))
    match policy:
        case "add":
            return Decision(
                record=InterfaceRecord(policy=policy, action=InterfaceAction.ADDED, demands=asked)
            )
        case "keep":
            return Decision(record=InterfaceRecord(policy=policy, action=InterfaceAction.KEPT, demands=asked))
        case "drop":
            return _dropped(asked, wanted)
        case "reject":
            return _rejected(asked, policy)
        case _:
            assert_never(policy)


def is_dropped(record: InterfaceRecord, test: TestId) -> bool:
    """Whether the policy takes a test out of the lists."""
    paths = {name.partition("::")[0] for name in record.dropped}
    return _function(test, paths) in {_plain(name) for name in record.dropped}


def _dropped(asked: tuple[Demand, ...], wanted: Collection[tuple[str, str]]) -> Decision:
    gone = sorted({test for demand in asked for test in demand.tests if _plain(test) in wanted})
    if set(wanted) <= {_plain(test) for test in gone}:
        return _rejected(asked, "drop")
    return Decision(
        record=InterfaceRecord(
            policy="drop", action=InterfaceAction.DROPPED, demands=asked, dropped=tuple(gone)
        )
    )


def _rejected(asked: tuple[Demand, ...], policy: Policy) -> Decision:
    record = InterfaceRecord(policy=policy, action=InterfaceAction.REJECTED, demands=asked)
    rejected = Rejected(
        code=RejectCode.UNDERSPECIFIED,
        message=(
            f"tests demand {len(asked)} names, parameters or messages that the statement doesn't mention and "
            "base doesn't have; interface.policy `add` would tell them"
        ),
        evidence=tuple(f"{demand.kind.value}: {demand.text}" for demand in asked)[:20],
    )
    return Decision(record=record, rejected=rejected)


def _line(demand: Demand) -> str:
    match demand.kind:
        case DemandKind.MESSAGE:
            return f"- the message {_quoted(demand.text)}"
        case DemandKind.NAME | DemandKind.PARAMETER:
            where = f" in `{demand.path}`" if demand.path else ""
            return f"- {_quoted(demand.signature or demand.text)}{where}"
        case _:
            assert_never(demand.kind)


def _quoted(text: str) -> str:
    """Return a text as Markdown's code, with more backticks around it than it holds in a row."""
    plain = " ".join(text.split())
    fence = "`"
    while fence in plain:
        fence += "`"
    return f"{fence} {plain} {fence}" if len(fence) > 1 else f"`{plain}`"


def _function(test: TestId, paths: Collection[str]) -> tuple[str, str]:
    """Return the file and function of a test's id; parameters and classes don't matter."""
    return file_of(test, paths) or test.partition("::")[0], function_name(test)


def _plain(label: str) -> tuple[str, str]:
    path, _, name = label.partition("::")
    return path, name.rpartition("::")[2]

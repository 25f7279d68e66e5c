"""Why an item ended as it did: its ending, its tries, its log."""

import difflib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, assert_never

from swequarry.errors import InputError
from swequarry.ledger import queries
from swequarry.ledger.attempts import Attempt
from swequarry.ledger.keys import StoredValue
from swequarry.ledger.queries import accepted_of_stage, attempts_of
from swequarry.ledger.runs import Ending
from swequarry.outcome import REJECT_MEANING, Accepted, Failed, RejectCode, Rejected
from swequarry.pipeline.item_log import log_path
from swequarry.pipeline.reporting import CHECKS, last_run
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Candidate, Checks, Task, Verifier
from swequarry.report.measured import say_stability, say_strength
from swequarry.report.reviewed import say_review


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One attempt of a stage, as told to a person. `duration_s` is observed."""

    stage: str
    status: str
    duration_s: float | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How an item ended, in a sentence, with evidence and tries.

    `tries` are those of the item alone: mining tries a whole source at once. `log` need not exist. `links`
    say of each issue whether it is resolved, and by what evidence.
    """

    item: str
    verdict: str
    stage: str | None
    code: str | None
    evidence: tuple[str, ...]
    tries: tuple[Try, ...]
    log: Path
    links: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {**asdict(self), "log": str(self.log)}


def resolve_item(workspace: Workspace, name: str) -> str:
    """Return the item of the newest run that a name or a unique part of one means.

    Raises:
        InputError: nothing or more than one item is meant.
    """
    selected = workspace.ledger.selection(last_run(workspace).number)
    if name in selected:
        return name
    near = [item for item in selected if name.lower() in item.lower()]
    if len(near) == 1:
        return near[0]
    if not near:
        alike = difflib.get_close_matches(name, selected, n=1)
        hint = f"did you mean {alike[0]}?" if alike else "`swequarry tasks` and `swequarry rejects` list them"
        raise InputError(f"the newest run knows no item {name!r}; {hint}")
    shown = ", ".join(near[:5]) + (", ..." if len(near) > 5 else "")  # noqa: PLR2004
    raise InputError(f"{name!r} could be any of {len(near)} items: {shown}; give the whole id")


def ending_of(workspace: Workspace, item: str) -> Ending | None:
    """Return how an item ended in the newest run; None while it is on its way."""
    return queries.ending_of(workspace.ledger, last_run(workspace).number, item)


def explain(workspace: Workspace, name: str) -> Explanation:
    """Return why an item of the newest run ended as it did.

    Raises:
        InputError: no such item.
    """
    item = resolve_item(workspace, name)
    ending = ending_of(workspace, item)
    verdict, code = "on its way; run the same command again", None
    evidence: tuple[str, ...] = ()
    if ending is not None:
        verdict, code, evidence = _say(ending.outcome, ending.stage)
        if isinstance(ending.outcome, Accepted):
            task = Task.from_json(ending.outcome.value)
            evidence = tuple(f"left out: {what}" for what in _left_out(workspace, item, task))
    return Explanation(
        item=item,
        verdict=verdict,
        stage=ending.stage if ending else None,
        code=code,
        evidence=evidence,
        tries=tuple(_try(attempt) for attempt in attempts_of(workspace.ledger, [item])),
        log=log_path(workspace.logs, item),
        links=_links(workspace, item),
    )


def _links(workspace: Workspace, item: str) -> tuple[str, ...]:
    """Return a sentence for each issue that a candidate names, as a mining has them."""
    from miner.evidence import say_link  # noqa: PLC0415 - grading finds its tasks here and loads nothing that mines

    mined = [
        Candidate.from_json(value) for _, value in accepted_of_stage(workspace.ledger, "mine", item=item)
    ]
    return tuple(say_link(link, mined[-1].repo) for link in mined[-1].links) if mined else ()


def _say(outcome: StoredValue, stage: str) -> tuple[str, str | None, tuple[str, ...]]:
    match outcome:
        case Accepted(value=value):
            task = Task.from_json(value)
            turned, kept = len(task.verification.fail_to_pass), len(task.verification.pass_to_pass)
            said = f"accepted; {turned} FAIL_TO_PASS and {kept} PASS_TO_PASS tests"
            more = f"{say_checks(task.verifier)}; stability: {say_stability(task.stability)}"
            more += f"; strength: {say_strength(task.strength)}"
            return f"{said}; {more}; review: {say_review(task.review)}", None, ()
        case Rejected(code=RejectCode.NOT_TRIED as code, message=message, evidence=evidence):
            return f"not tried: {message}", code.value, evidence
        case Rejected(code=code, message=message, evidence=evidence):
            return (
                f"rejected at {stage} as {code.value}: {message} ({REJECT_MEANING[code]})",
                code.value,
                evidence,
            )
        case Failed(boundary=boundary, message=message, evidence=evidence):
            said = (
                f"failed at {stage}, the {boundary.value} broke: {message}; `swequarry retry` tries it again"
            )
            return said, boundary.value, evidence
        case never:
            assert_never(never)


def say_checks(verifier: Verifier) -> str:
    """Return how far the canaries and held-out twins of a task reach, in a few words."""
    canaries, held_out = verifier.canaries, verifier.held_out
    if canaries is None:
        return "no canaries"
    twins = len(held_out.twins) if held_out else 0
    reach = f"{canaries.covered} of {canaries.fail_to_pass} FAIL_TO_PASS tests ({canaries.share:.0%})"
    return f"canaries for {reach}, {twins} held-out twins"


def _left_out(workspace: Workspace, item: str, task: Task) -> tuple[str, ...]:
    """Return which checks weren't made for a task, and why."""
    for _, value in accepted_of_stage(workspace.ledger, CHECKS, item=item):
        checks = Checks.from_json(value)
        if checks.content_hash() == task.provenance.checks:
            return checks.left_out
    return ()


def _try(attempt: Attempt) -> Try:
    duration = attempt.observed.get("duration_s")
    return Try(
        stage=attempt.key.stage,
        status=attempt.status.value,
        duration_s=None if duration is None else float(duration),
        message=attempt.message or "",
    )


def find_task(workspace: Workspace, name: str) -> Task:
    """Return a task of the newest run.

    Raises:
        InputError: no such item, or it isn't a task; says why.
    """
    explanation = explain(workspace, name)
    ending = ending_of(workspace, explanation.item)
    if ending is None or not isinstance(ending.outcome, Accepted):
        raise InputError(f"{explanation.item} is no task: {explanation.verdict}")
    return Task.from_json(ending.outcome.value)

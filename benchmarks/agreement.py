"""How a verified task compares with the lists that its dataset published.

The plain comparison decides. A second reading repeats it under one rule about the published runs, which our
own runs decide row by row: pytest ends a session at a file that it can't import unless it is told to go on,
and then every test of the session counts as failing before the fix. Here a session goes on.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from swequarry.records import State, Verification
from swequarry.verify.signs import tells_of_network

_STOPS_AT = "missing: collection error in "
_UNEQUIPPED = re.compile(
    r"could not import|No module named|\b(?:requires?|needs?|missing|without)\b"
    r"|not (?:available|installed)|unavailable|must be installed",
    re.IGNORECASE,
)
_WIDTH = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Set comparisons after cutting our ids at the first blank, as the published ones are.

    `stopped_at` are the files that can't be imported before the fix. `under_rule_contained` and
    `under_rule_exact` say what holds where every test counts as failing before because of them; without such
    a file they say what holds plainly.
    """

    fail_to_pass_contained: bool
    fail_to_pass_exact: bool
    pass_to_pass_contained: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    missing_p2p: tuple[str, ...]
    stopped_at: tuple[str, ...] = ()
    under_rule_contained: bool = False
    under_rule_exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What our runs said of tests by their cut ids: outcomes by state, and last lines of what went wrong."""

    outcomes: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    details: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def cut(test: str) -> str:
    """Return a pytest id as SWE-bench publishes it: cut at the first blank."""
    return test.split(" ", 1)[0]


def compare(
    verification: Verification, published_f2p: Iterable[str], published_p2p: Iterable[str]
) -> Agreement:
    """Compare our lists with published ones.

    A published FAIL_TO_PASS counts as contained if ours has it after the cut; where a cut form joins tests
    that turn with tests that passed all along, it turns as a whole and still counts.
    """
    theirs = {cut(test) for test in published_f2p}
    ours = {cut(test) for test in verification.fail_to_pass}
    kept = {cut(test) for test in verification.pass_to_pass}
    their_p2p = {cut(test) for test in published_p2p}
    stopped_at = files_that_stop(verification)
    counted = ours | kept if stopped_at else ours
    return Agreement(
        fail_to_pass_contained=theirs <= ours,
        fail_to_pass_exact=theirs == ours,
        pass_to_pass_contained=their_p2p <= kept | ours,
        missing=tuple(sorted(theirs - ours)),
        extra=tuple(sorted(ours - theirs)),
        missing_p2p=tuple(sorted(their_p2p - kept - ours)),
        stopped_at=stopped_at,
        under_rule_contained=theirs <= ours or theirs <= counted,
        under_rule_exact=theirs in (ours, counted),
    )


def files_that_stop(verification: Verification) -> tuple[str, ...]:
    """Return the files whose import fails before the fix, as the causes of FAIL_TO_PASS tests name them."""
    causes = {cause for _, cause in verification.causes}
    return tuple(sorted(c.removeprefix(_STOPS_AT) for c in causes if c.startswith(_STOPS_AT)))


def seen(matrix: Mapping[str, Any], observed: Mapping[str, Any]) -> Seen:
    """Return what our runs said of the tests.

    `matrix` is the blob of a verification: {"tests": {id: {state: [outcome by run]}}}. `observed` is what was
    observed while it was made: {"runs": [{"state", "details": {id: line}, ...}]}; empty where it is unknown.
    """
    outcomes: dict[str, dict[str, frozenset[str]]] = {}
    for test, states in matrix["tests"].items():
        known = outcomes.setdefault(cut(test), {})
        for state, found in states.items():
            known[state] = known.get(state, frozenset()) | frozenset(found)
    details: dict[str, dict[str, None]] = {}
    for run in observed.get("runs", ()):
        if run["state"] == State.AFTER.value:
            for test, line in run["details"].items():
                details.setdefault(cut(test), {})[line] = None
    return Seen(outcomes=outcomes, details={test: tuple(lines) for test, lines in details.items()})


def classes(tests: Iterable[str], runs: Seen, stopped_at: tuple[str, ...] = ()) -> Counter[str]:
    """Count why published tests aren't in our lists: each has the name of one rule, and what it rests on."""
    return Counter(_class(test, runs, stopped_at) for test in tests)


def _class(test: str, runs: Seen, stopped_at: tuple[str, ...]) -> str:
    states = runs.outcomes.get(test)
    if states is None:
        return "not collected here"
    before, after = (states.get(state.value, frozenset()) for state in (State.BEFORE, State.AFTER))
    if before == after == {"passed"}:
        return f"session_stopped_at: {', '.join(stopped_at)}" if stopped_at else "passes before and after"
    said = " | ".join(runs.details.get(test, ()))
    shown = f": {said[:_WIDTH]}" if said else ""
    if tells_of_network(said):
        return f"waits for network{shown}"
    if after == {"skipped"}:
        return f"optional dependency{shown}" if _UNEQUIPPED.search(said) else f"skipped here{shown}"
    ended = f"before {'/'.join(sorted(before)) or 'absent'}, after {'/'.join(sorted(after)) or 'absent'}"
    return f"{ended}{shown}"


def extra_classes(tests: Iterable[str], published_p2p: Iterable[str]) -> Counter[str]:
    """Count what our FAIL_TO_PASS tests beyond the published ones were in the published runs."""
    theirs = {cut(test) for test in published_p2p}
    return Counter(
        "passed before the fix there" if cut(test) in theirs else "not run there" for test in tests
    )

"""How a verified task compares with the lists that its dataset published."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from swequarry.records import Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Set comparisons after cutting our ids at the first blank, as the published ones are."""

    fail_to_pass_contained: bool
    fail_to_pass_exact: bool
    pass_to_pass_contained: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    missing_p2p: tuple[str, ...]


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
    return Agreement(
        fail_to_pass_contained=theirs <= ours,
        fail_to_pass_exact=theirs == ours,
        pass_to_pass_contained=their_p2p <= kept | ours,
        missing=tuple(sorted(theirs - ours)),
        extra=tuple(sorted(ours - theirs)),
        missing_p2p=tuple(sorted(their_p2p - kept - ours)),
    )


def reasons(tests: Iterable[str], matrix: Mapping[str, Any]) -> Counter[str]:
    """Count why published tests aren't in our lists, by what our runs said of them.

    `matrix` is the blob of a verification: {"tests": {id: {state: [outcome by run]}}}. A published test that
    passes before the fix in our runs was counted as failing because its own run was interrupted: one file
    that can't be imported ends a session of pytest unless it is told to go on.
    """
    ours: dict[str, list[Mapping[str, list[str]]]] = {}
    for test, states in matrix["tests"].items():
        ours.setdefault(cut(test), []).append(states)
    return Counter(_reason(ours.get(test, [])) for test in tests)


def _reason(found: list[Mapping[str, list[str]]]) -> str:
    if not found:
        return "no such test in our runs"
    before = {outcome for states in found for outcome in states.get("before", ())}
    after = {outcome for states in found for outcome in states.get("after", ())}
    if before == after == {"passed"}:
        return "passes before and after"
    return f"before {'/'.join(sorted(before)) or 'absent'}, after {'/'.join(sorted(after)) or 'absent'}"

"""How a verified task compares with the lists that its dataset published."""

from collections.abc import Iterable
from dataclasses import dataclass

from swequarry.records import Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Set comparisons after cutting our ids at the first blank, as the published ones are."""

    fail_to_pass_contained: bool
    fail_to_pass_exact: bool
    pass_to_pass_contained: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]


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
    )

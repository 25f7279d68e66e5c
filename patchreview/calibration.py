"""Measures how often each rule is right on labelled patches, so that those that aren't stop none."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from patchreview.findings import Severity
from patchreview.interface import NO_GROUND, Ground
from patchreview.measured import LARGEST_FALSE_ALARM, LOWEST_PRECISION, Calibration, Measure
from patchreview.reviewer import review_patch
from patchreview.rules import all_rules

_NOTHING = Measure(cheats=0, honest=0, of_honest=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A patch of which somebody knows what it is, and what it's to be held against.

    `rule` is the code of the only rule that the label is about, empty for all; `source` names the set.
    """

    name: str
    patch: bytes
    honest: bool
    source: str
    ground: Ground = NO_GROUND
    rule: str = ""


@dataclass(slots=True)
class SetCount:
    """How many patches of a set there were, and how many of them any rule stopped."""

    source: str
    honest: bool
    patches: int = 0
    blocked: int = 0


@dataclass(slots=True)
class _Counts:
    honest: int = 0
    cheats: int = 0
    hits: dict[bool, Counter[str]] = field(default_factory=lambda: {True: Counter(), False: Counter()})
    about: dict[bool, Counter[str]] = field(default_factory=lambda: {True: Counter(), False: Counter()})


def calibrate(
    labelled: Iterable[Labelled], base: Calibration | None = None
) -> tuple[Calibration, tuple[SetCount, ...]]:
    """Return the measures of all rules that can stop a patch, added to those of `base`, and the sets.

    No rule is demoted while it's measured.
    """
    counts, sets = _Counts(), dict[tuple[str, bool], SetCount]()
    for one in labelled:
        review = review_patch(one.patch, one.ground, calibration={})
        stopped = {found.rule for found in review.findings if found.severity is Severity.BLOCK}
        stopped &= {one.rule} if one.rule else stopped
        counts.hits[one.honest].update(stopped)
        if one.rule:
            counts.about[one.honest][one.rule] += 1
        elif one.honest:
            counts.honest += 1
        else:
            counts.cheats += 1
        seen = sets.setdefault((one.source, one.honest), SetCount(one.source, one.honest))
        seen.patches += 1
        seen.blocked += bool(stopped)
    return {code: _sum(code, counts, (base or {}).get(code, _NOTHING)) for code in _codes()}, tuple(
        sets.values()
    )


def _codes() -> Iterator[str]:
    return (rule.code for rule in all_rules() if rule.severity is Severity.BLOCK)


def _sum(code: str, counts: _Counts, before: Measure) -> Measure:
    return replace(
        before,
        cheats=before.cheats + counts.hits[False][code],
        honest=before.honest + counts.hits[True][code],
        of_cheats=before.of_cheats + counts.cheats + counts.about[False][code],
        of_honest=before.of_honest + counts.honest + counts.about[True][code],
    )


def calibration_page(found: Calibration, sets: Sequence[SetCount]) -> Iterator[str]:
    """Yield the lines of a page: the sets, then each rule with what it stopped and whether it still may."""
    yield "# Calibration of the review's rules"
    yield ""
    yield "Made by `swequarry calibrate`; the table of rules holds the counts that it was added to."
    yield ""
    yield "| set | taken as | patches | stopped |"
    yield "|---|---|---|---|"
    for one in sets:
        kind = "honest" if one.honest else "cheats"
        yield f"| {one.source} | {kind} | {one.patches} | {one.blocked} |"
    yield ""
    yield (
        f"A rule that is right in fewer than {LOWEST_PRECISION:.0%} of what it stops, or stops more than "
        f"{LARGEST_FALSE_ALARM:.0%} of the honest patches, only warns."
    )
    yield ""
    yield "| rule | severity | cheats stopped | recall over all cheats | honest stopped | precision |"
    yield "|---|---|---|---|---|---|"
    for code, measure in sorted(found.items()):
        severity = "block" if measure.may_block else "warn (demoted)"
        yield (
            f"| `{code}` | {severity} | {_of(measure.cheats, measure.of_cheats)} | {_share(measure.recall)} "
            f"| {_of(measure.honest, measure.of_honest)} | {_share(measure.precision)} |"
        )


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else str(part)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"

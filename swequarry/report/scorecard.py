"""Scorecards: what the runs showed of each repository, computed from facts about its items.

A number is None where nothing was measured: that isn't the same as 0.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

SCORECARD_SCHEMA = 1


class End(StrEnum):
    """How an item ended; those that a policy spared are no rejected ones here."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"
    NOT_TRIED = "not_tried"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFacts:
    """What is known of one item. Counts of tests are of that item; times are seconds and observed.

    `built` is None where no build was tried, or where the machinery broke in it. `base_passed` of
    `base_tests` are tests in the state base. `unstable` of `tests` are those that repeated or perturbed runs
    showed to be so. `covered` of `lines` are lines of the fix that hidden tests ran, None if not measured.
    """

    repo: str
    end: End
    cause: str | None = None
    built: bool | None = None
    base_tests: int = 0
    base_passed: int = 0
    tests: int = 0
    unstable: int = 0
    lines: int | None = None
    covered: int | None = None
    runs_s: tuple[float, ...] = ()
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of a whole, as counts."""

    part: int
    whole: int

    @property
    def share(self) -> float | None:
        """Part of whole; None of nothing."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """One repository.

    `builds` are environments that were found, of those looked for. `base_tests` are tests of changed files
    that pass before anything is changed. `coverage` is of the lines that fixes wrote. `flakes` are unstable
    tests of all that were run. `causes` count reject codes and broken boundaries.
    """

    repo: str
    ends: Mapping[str, int]
    builds: Share
    base_tests: Share
    coverage: Share
    flakes: Share
    run_minutes_median: float | None
    run_minutes_slowest: float | None
    spent_minutes: float
    causes: Mapping[str, int] = field(default_factory=dict)

    @property
    def candidates(self) -> int:
        """All items of the repository."""
        return sum(self.ends.values())

    @property
    def minutes_per_task(self) -> float | None:
        """What was spent on all candidates, for each accepted one; None where there is none."""
        accepted = self.ends[End.ACCEPTED.value]
        return self.spent_minutes / accepted if accepted else None

    def to_json(self) -> dict[str, object]:
        """Return plain JSON data, shares as numbers beside their counts."""
        shares = {
            "build_success": self.builds,
            "tests_passing_at_base": self.base_tests,
            "coverage_of_changed_lines": self.coverage,
            "flake_rate": self.flakes,
        }
        return {
            "repo": self.repo,
            "candidates": self.candidates,
            "ends": dict(self.ends),
            "causes": dict(self.causes),
            **{
                name: {"share": one.share, "part": one.part, "whole": one.whole}
                for name, one in shares.items()
            },
            "run_minutes_median": self.run_minutes_median,
            "run_minutes_slowest": self.run_minutes_slowest,
            "spent_minutes": self.spent_minutes,
            "minutes_per_task": self.minutes_per_task,
        }


def scorecards(facts: Iterable[ItemFacts]) -> tuple[Scorecard, ...]:
    """Return one scorecard for each repository, by name."""
    by_repo: dict[str, list[ItemFacts]] = {}
    for one in facts:
        by_repo.setdefault(one.repo, []).append(one)
    return tuple(_scorecard(repo, by_repo[repo]) for repo in sorted(by_repo))


def _scorecard(repo: str, facts: list[ItemFacts]) -> Scorecard:
    ends = Counter(one.end for one in facts)
    causes = Counter(one.cause for one in facts if one.cause is not None)
    runs = [seconds / 60 for one in facts for seconds in one.runs_s]
    return Scorecard(
        repo=repo,
        ends={end.value: ends[end] for end in End},
        causes=dict(sorted(causes.items(), key=lambda pair: (-pair[1], pair[0]))),
        builds=Share(
            part=sum(one.built is True for one in facts), whole=sum(one.built is not None for one in facts)
        ),
        base_tests=Share(
            part=sum(one.base_passed for one in facts), whole=sum(one.base_tests for one in facts)
        ),
        coverage=Share(
            part=sum(one.covered or 0 for one in facts), whole=sum(one.lines or 0 for one in facts)
        ),
        flakes=Share(part=sum(one.unstable for one in facts), whole=sum(one.tests for one in facts)),
        run_minutes_median=round(median(runs), 4) if runs else None,
        run_minutes_slowest=round(max(runs), 4) if runs else None,
        spent_minutes=round(sum(one.spent_s for one in facts) / 60, 4),
    )

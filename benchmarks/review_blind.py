"""Reviews the blind cheats: how many are blocked, by kind, and what was found in those that weren't."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.blind_cheats import RECIPES, SPARE, Cheat, patch_of, read_cheats
from patchreview.findings import Severity
from patchreview.interface import Ground
from patchreview.reviewer import Review, review_patch

FIRST, FIRST_SPARE = "69 of 150 (46.0%)", "14 of 26"
"""What was blocked before a rule was changed; it can't be measured again."""


@dataclass
class Blind:
    """What became of the blind cheats: by kind how many were blocked and how many there are."""

    kinds: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    missed: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)

    @property
    def blocked(self) -> int:
        """How many were blocked."""
        return sum(hit for hit, _ in self.kinds.values())

    @property
    def planted(self) -> int:
        """How many there are."""
        return sum(all_ for _, all_ in self.kinds.values())

    def add(self, cheat: Cheat, review: Review) -> None:
        """Count one review."""
        count = self.kinds[cheat.kind]
        count[0] += review.blocked
        count[1] += 1
        self.rules.update({found.rule for found in review.findings if found.severity is Severity.BLOCK})
        if not review.blocked:
            said = sorted({f"{f.rule} ({f.severity.value})" for f in review.findings})
            self.missed.append(f"{cheat.kind}, {cheat.name}: {', '.join(said) or 'nothing'}")


def review_blind(
    rows: Iterable[Mapping[str, Any]], mirror: str, ground: Callable[[Mapping[str, Any]], Ground]
) -> tuple[Blind, Blind]:
    """Review the blind cheats and the spare ones, with the fix, the tests and the statement known."""
    known = {row["instance_id"]: row for row in rows}
    blind, spare = Blind(), Blind()
    for path, into in ((RECIPES, blind), (SPARE, spare)):
        for cheat in read_cheats(path):
            if (row := known.get(cheat.instance_id)) is not None:
                patch = patch_of(cheat, row, mirror)
                into.add(cheat, review_patch(patch, ground(row), calibration={}))
    return blind, spare


def print_blind(blind: Blind, spare: Blind) -> None:
    """Print the count, the kinds and the misses; of the spare ones, which stay unseen, the count alone."""
    if not blind.planted:
        return
    print(f"blind cheats, blocked: {blind.blocked} of {blind.planted} ({blind.blocked / blind.planted:.1%})")
    for kind, (hit, all_) in sorted(blind.kinds.items()):
        print(f"  {kind}: {hit} of {all_}")
    print("  not blocked, and what was found instead:")
    for line in sorted(blind.missed):
        print(f"    {line}")
    print(f"spare blind cheats, on which no rule was adjusted, blocked: {spare.blocked} of {spare.planted}")


def lines_of(blind: Blind, spare: Blind) -> list[str]:
    """Return the section about them for the page of rules."""
    told = (
        "Written on real rows by someone who had read no rule (`benchmarks/blind_cheats.py`). Before a rule "
        f"was changed {FIRST} were blocked; the rules were then adjusted on these: now {blind.blocked} of "
        f"{blind.planted} are ({blind.blocked / blind.planted:.1%}). {spare.planted} more by the same writer "
        f"were drawn out by lot before, and no rule was adjusted on them: {FIRST_SPARE} were blocked then, "
        f"{spare.blocked} are now. Expect that share on cheats that nobody here has thought of."
    )
    table = ["| kind | planted | blocked |", "|---|---|---|"]
    kinds = [
        f"| {kind.replace('_', ' ')} | {all_} | {hit} |" for kind, (hit, all_) in sorted(blind.kinds.items())
    ]
    return ["", "## Blind cheats", "", told, "", *table, *kinds]

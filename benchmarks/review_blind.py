"""Reviews the blind cheats: how many are blocked, by kind, and what was found in those that weren't."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.blind_cheats import Cheat, patch_of, read_cheats
from patchreview.interface import Ground
from patchreview.reviewer import Review, review_patch


@dataclass
class Blind:
    """What became of the blind cheats: by kind how many were blocked and how many there are."""

    kinds: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    missed: list[str] = field(default_factory=list)

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
        if not review.blocked:
            said = sorted({f"{f.rule} ({f.severity.value})" for f in review.findings})
            self.missed.append(f"{cheat.kind}, {cheat.name}: {', '.join(said) or 'nothing'}")


def review_blind(
    rows: Iterable[Mapping[str, Any]], mirror: str, ground: Callable[[Mapping[str, Any]], Ground]
) -> Blind:
    """Review each blind cheat whose row is at hand, with the fix, the tests and the statement known."""
    known = {row["instance_id"]: row for row in rows}
    blind = Blind()
    for cheat in read_cheats():
        if (row := known.get(cheat.instance_id)) is not None:
            blind.add(cheat, review_patch(patch_of(cheat, row, mirror), ground(row), calibration={}))
    return blind


def print_blind(blind: Blind) -> None:
    """Print the count, the kinds and the misses."""
    if not blind.planted:
        return
    print(f"blind cheats, blocked: {blind.blocked} of {blind.planted} ({blind.blocked / blind.planted:.1%})")
    for kind, (hit, all_) in sorted(blind.kinds.items()):
        print(f"  {kind}: {hit} of {all_}")
    print("  not blocked, and what was found instead:")
    for line in sorted(blind.missed):
        print(f"    {line}")

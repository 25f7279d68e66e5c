# ruff: noqa: E501, ISC004 - the page is quoted whole
"""How often the reviewer is right: gold patches and agents' as honest ones, planted cheats as the others.

    python -m benchmarks.review --rows ROWS.jsonl [--rows MORE.jsonl] [--agent PATCHES.jsonl] [--mirror TEMPLATE] [--sample N] [--write]

A row's gold patch is reviewed against its own hidden tests and statement, as if the fix weren't known; cheats
(see `benchmarks/review_cheats.py`) and agents' patches with the fix known. `--mirror` names bare repositories,
`{owner}` and `{name}` in it, from which the blind cheats (`benchmarks/blind_cheats.py`) are built. `--write` writes
the figures where the reviewer reads them, and docs/review-rules.md. Rows with `labels` and `lite` in `subset` also give the AUROC
of the task review. Times are processor time of one core.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.options import sampled
from benchmarks.review_blind import Blind, lines_of, print_blind, review_blind
from benchmarks.review_cheats import cheats_of
from benchmarks.review_tasks import print_auroc
from patchreview.checkers import bandit, mypy, ruff
from patchreview.diff import read_diff
from patchreview.findings import Severity
from patchreview.interface import NO_GROUND, Ground
from patchreview.measured import LARGEST_FALSE_ALARM, LOWEST_PRECISION, Measure, write_calibration
from patchreview.reviewer import HOSTILE, Review, review_patch
from patchreview.rules import all_rules

CHECKERS = ((ruff.CODE, "ruff"), (bandit.CODE, "bandit"), (mypy.CODE, "mypy"))
_ROOT = Path(__file__).parents[1]
_FIGURES = _ROOT / "patchreview" / "measured.json"
_PAGE = _ROOT / "docs" / "review-rules.md"


@dataclass
class Seen:
    """What the rules said of one set of patches."""

    patches: int = 0
    blocked: int = 0
    seconds: float = 0.0
    rules: dict[Severity, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: list[str] = field(default_factory=list)

    def add(self, name: str, review: Review, seconds: float) -> None:
        """Count one review."""
        self.patches += 1
        self.seconds += seconds
        self.blocked += review.blocked
        for severity in Severity:
            self.rules[severity].update({f.rule for f in review.findings if f.severity is severity})
        if review.blocked:
            self.wrong.append(f"{name}: {review.findings[0]}")


def main() -> None:
    """Measure, print, and write the page if asked."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=Path, action="append", required=True)
    options.add_argument("--agent", type=Path)
    options.add_argument("--mirror")
    options.add_argument("--sample", type=int)
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    if given.write and not given.mirror:
        options.error("--write needs --mirror: the page says what became of the blind cheats")
    rows = sampled([row for path in given.rows for row in _read(path)], given.sample)
    gold, whole = _gold(rows), _whole(rows)
    cheats, kinds = _cheats(rows)
    agent = _agent(_read(given.agent), rows) if given.agent else None
    _print_set("gold patches, blocked (wrongly)", gold)
    _print_set("merged pull requests with their tests, blocked", whole)
    if agent:
        _print_set("agents' patches, blocked", agent)
    blind = review_blind(rows, given.mirror, lambda row: _ground(row, gold=True)) if given.mirror else None
    if blind:
        print_blind(*blind)
    print(
        f"planted cheats, blocked: {cheats.blocked} of {cheats.patches} ({cheats.blocked / cheats.patches:.2%})"
    )
    for kind, (hit, all_) in kinds.items():
        print(f"  {kind}: {hit} of {all_} ({hit / all_:.1%})")
    even = _at_even_odds(gold, cheats)
    print(f"precision of a block: {cheats.blocked / (cheats.blocked + gold.blocked):.4f}; ", end="")
    print(f"if honest patches and cheats were as many: {even:.4f}")
    _print_speed([gold, cheats], rows)
    found = _measures(gold, cheats, blind[0] if blind else Blind())
    if given.write and blind:
        write_calibration(_FIGURES, found)
        page = _page(found, gold, whole, cheats, kinds, agent, blind)
        _PAGE.write_text(page, encoding="utf-8")
    print_auroc(rows)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _ground(row: Mapping[str, Any], *, gold: bool) -> Ground:
    return Ground(
        gold=read_diff(row["patch"].encode()) if gold else None,
        tests=read_diff(row["test_patch"].encode()),
        statement=row["problem_statement"],
    )


def _timed(seen: Seen, name: str, patch: bytes, ground: Ground) -> Review:
    began = time.process_time()
    review = review_patch(patch, ground, calibration={})  # a demoted rule is measured as if it weren't
    seen.add(name, review, time.process_time() - began)
    return review


def _gold(rows: Iterable[Mapping[str, Any]]) -> Seen:
    seen = Seen()
    for row in rows:
        _timed(seen, row["instance_id"], row["patch"].encode(), _ground(row, gold=False))
    return seen


def _whole(rows: Iterable[Mapping[str, Any]]) -> Seen:
    seen = Seen()
    for row in rows:
        patch = f"{row['patch'].rstrip(chr(10))}\n{row['test_patch']}".encode()
        _timed(seen, row["instance_id"], patch, NO_GROUND)
    return seen


def _cheats(rows: Iterable[Mapping[str, Any]]) -> tuple[Seen, dict[str, tuple[int, int]]]:
    seen, kinds = Seen(), dict[str, tuple[int, int]]()
    for row in rows:
        ground = _ground(row, gold=True)
        for cheat in cheats_of(row):
            review = _timed(seen, cheat.instance_id, cheat.patch, ground)
            hit, all_ = kinds.get(cheat.kind, (0, 0))
            kinds[cheat.kind] = (hit + review.blocked, all_ + 1)
    return seen, kinds


def _agent(patches: Iterable[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> Seen:
    known = {row["instance_id"]: row for row in rows}
    seen = Seen()
    for one in patches:
        row = known.get(one["instance_id"])
        _timed(seen, one["instance_id"], one["patch"].encode(), _ground(row, gold=True) if row else NO_GROUND)
    return seen


def _print_set(name: str, seen: Seen) -> None:
    print(f"{name}: {seen.blocked} of {seen.patches}")
    for line in seen.wrong:
        print(f"  {line}")


def _at_even_odds(honest: Seen, cheats: Seen) -> float:
    right, wrong = cheats.blocked / cheats.patches, honest.blocked / honest.patches
    return right / (right + wrong)


def _print_speed(sets: Sequence[Seen], rows: Sequence[Mapping[str, Any]]) -> None:
    patches, seconds = sum(s.patches for s in sets), sum(s.seconds for s in sets)
    print(
        f"speed: {1000 * seconds / patches:.1f} ms a patch, 1,000 patches in {1000 * seconds / patches:.1f} s"
    )
    largest = max(rows, key=lambda row: abs_size(row["patch"]))
    began = time.process_time()
    review_patch(largest["patch"].encode(), _ground(largest, gold=False))
    print(f"  the largest, {abs_size(largest['patch'])} lines: {1000 * (time.process_time() - began):.0f} ms")


def abs_size(patch: str) -> int:
    """Return how many lines a patch has."""
    return patch.count("\n")


def _measures(gold: Seen, cheats: Seen, blind: Blind) -> dict[str, Measure]:
    return {
        rule.code: Measure(
            cheats=cheats.rules[Severity.BLOCK][rule.code] + blind.rules[rule.code],
            honest=gold.rules[Severity.BLOCK][rule.code],
            of_honest=gold.patches,
            of_cheats=cheats.patches + blind.planted,
        )
        for rule in all_rules()
        if rule.severity is Severity.BLOCK
    }


def _page(
    found: Mapping[str, Measure],
    gold: Seen,
    whole: Seen,
    cheats: Seen,
    kinds: Mapping[str, tuple[int, int]],
    agent: Seen | None,
    blind: tuple[Blind, Blind],
) -> str:
    lines = [
        "# The rules of the Patch Reviewer, and how often they were right",
        "",
        "Made by `python -m benchmarks.review --write`; [review.md](review.md) tells how to use the reviewer.",
        "",
        f"Honest patches: {gold.patches} gold patches, each against its own hidden tests as if the fix weren't known; "
        f"{gold.blocked} were blocked. Cheats: {cheats.patches} planted ones, {cheats.blocked} blocked "
        f"({cheats.blocked / cheats.patches:.1%}). If both were as many, {_at_even_odds(gold, cheats):.1%} of the blocks "
        "would be right.",
        "",
        "The cheats were made by a recipe that is older than the rules (`benchmarks/review_cheats.py`) but comes from "
        "the same hands; the blind ones below don't, and both are in the table. The rules were adjusted on these rows; no other rows were kept aside.",
        "",
        f"A rule that is right in fewer than {LOWEST_PRECISION:.0%} of its blocks, or blocks more than "
        f"{LARGEST_FALSE_ALARM:.0%} of the honest patches, only warns.",
        "",
        "| rule | highest | catches | cheats blocked | honest blocked | precision | warns on honest |",
        "|---|---|---|---|---|---|---|",
    ]
    for rule in all_rules():
        one = found.get(rule.code)
        demoted = one is not None and not one.may_block
        highest = "warn (demoted)" if demoted else rule.severity.value
        blocks = f"{one.cheats} | {one.honest} | {_share(one.precision)}" if one else "- | - | -"
        lines.append(
            f"| `{rule.code}` | {highest} | {rule.catches} | {blocks} | {gold.rules[Severity.WARN][rule.code]} |"
        )
    lines += [
        f"| `{HOSTILE}` | block | patches that can't be read, are too large or take too long | - | - | - | - |",
        *(
            f"| `{code}` | warn | what {program} says of the new side only (`--diff` and `--pr`, where it's installed) | - | - | - | - |"
            for code, program in CHECKERS
        ),
        "| `slow-tests` | warn | hidden tests that take much longer than with the fix (`swequarry grade`) | - | - | - | - |",
        "",
        "## Kinds of cheats",
        "",
        "| kind | planted | blocked |",
        "|---|---|---|",
        *(f"| {kind} | {all_} | {hit / all_:.1%} |" for kind, (hit, all_) in kinds.items()),
        *lines_of(*blind),
        "",
        "## Other honest patches",
        "",
        f"- Merged pull requests with their tests, nothing else known: {whole.blocked} of {whole.patches} blocked "
        "(tests that people took away, turned off or weakened; a reviewer would be asked).",
    ]
    if agent:
        lines.append(f"- Patches of an agent: {agent.blocked} of {agent.patches} blocked.")
    return "\n".join(lines) + "\n"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


if __name__ == "__main__":
    main()

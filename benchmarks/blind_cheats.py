"""150 cheats planted on real rows by someone who had not read the reviewer's rules.

How they were made: the writer knew the purpose of the reviewer, a catalogue of ways to fool a grader, and
the rows with their fixes and tests, but had opened neither `patchreview/` nor the pages and tests about it;
the fixture was committed before a rule was read. Each recipe is what a model or a person would write for
that row: it uses the row's own functions, files and literals. 184 were written by hand, eight were left out
as too contrived, and 26 of the larger kinds were drawn out by lot, to come to 150. The recipes are frozen:
a cheat that the reviewer misses is a fact about the reviewer and is never edited away.

`blind_cheats.jsonl` holds recipes and no source of any project: a recipe names short anchors, and the text
round them comes from a mirror of the repository at the row's base commit. One object a line:

| field | meaning |
|---|---|
| `name` | its own name, unique |
| `instance_id` | the row of the data set it starts from |
| `kind` | one word for the way of cheating |
| `base` | `none`: starts at the base commit; `gold`: starts at the row's own fix, which hides the trick |
| `edits` | operations in order; see `benchmarks/blind_edits.py` |

`blind_spare.jsonl` holds the 26 that were drawn out. No rule was adjusted on them and what was found in each
was never looked at: they say what the rules are worth on cheats that the rules haven't seen.

An anchor is one line, compared without its indentation; where it stands more than once `nth` (from 1) says
which. A recipe whose anchor is absent, or isn't alone, fails loudly.

`python -m benchmarks.blind_cheats ROWS.jsonl --mirror '/mirrors/{owner}/{name}'` builds all and prints the
counts.
"""

import argparse
import ast
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.blind_edits import OPERATIONS, Tree, apply_gold, diff_of, lay_out
from swequarry.errors import ConfigError

RECIPES = Path(__file__).with_name("blind_cheats.jsonl")
SPARE = Path(__file__).with_name("blind_spare.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheat:
    """One recipe as it stands in the file."""

    name: str
    instance_id: str
    kind: str
    base: str
    edits: tuple[Mapping[str, Any], ...]


def read_cheats(path: Path = RECIPES) -> tuple[Cheat, ...]:
    """All recipes.

    Raises:
        ConfigError: Two recipes share a name.
    """
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    cheats = tuple(Cheat(**{**row, "edits": tuple(row["edits"])}) for row in rows)
    twice = [name for name, times in Counter(cheat.name for cheat in cheats).items() if times > 1]
    if twice:
        raise ConfigError(f"{path.name}: the same name twice: {', '.join(twice)}")
    return cheats


def patch_of(cheat: Cheat, row: Mapping[str, Any], mirror: str) -> bytes:
    """The cheat as a unified diff against the row's base commit.

    Args:
        cheat: The recipe.
        row: Its row of the data set: `repo`, `base_commit` and `patch`.
        mirror: Path of a bare repository with `{owner}` and `{name}` in it.

    Raises:
        ConfigError: An anchor isn't there, or the recipe changes nothing.
    """
    tree = tree_of(row, mirror)
    try:
        if cheat.base == "gold":
            apply_gold(tree, row["patch"])
        for edit in cheat.edits:
            OPERATIONS[edit["op"]](tree, edit)
    except ConfigError as fault:
        raise ConfigError(f"{cheat.name}: {fault}") from fault
    made = diff_of(tree)
    if not made.strip():
        raise ConfigError(f"{cheat.name}: nothing was changed")
    return made


def tree_of(row: Mapping[str, Any], mirror: str) -> Tree:
    """The tree of a row's base commit, still without edits."""
    owner, name = row["repo"].split("/")
    return Tree(mirror=Path(mirror.format(owner=owner, name=name)), commit=row["base_commit"])


def _by_id(rows: Path) -> dict[str, Mapping[str, Any]]:
    lines = rows.read_text(encoding="utf-8").splitlines()
    return {row["instance_id"]: row for row in map(json.loads, lines)}


def built(rows: Path, mirror: str) -> Iterator[tuple[Cheat, bytes]]:
    """Each recipe with its patch."""
    known = {
        row["instance_id"]: row for row in map(json.loads, rows.read_text(encoding="utf-8").splitlines())
    }
    for cheat in read_cheats():
        yield cheat, patch_of(cheat, known[cheat.instance_id], mirror)


def _check(rows: Path, mirror: str) -> str:
    kinds: Counter[str] = Counter()
    ids: Counter[str] = Counter()
    known = {
        row["instance_id"]: row for row in map(json.loads, rows.read_text(encoding="utf-8").splitlines())
    }
    faults = []
    for cheat in read_cheats():
        try:
            patch = patch_of(cheat, known[cheat.instance_id], mirror)
        except ConfigError as fault:
            faults.append(str(fault))
            continue
        faults += [f"{cheat.name}: {fault}" for fault in _faults(known[cheat.instance_id], mirror, patch)]
        kinds[cheat.kind] += 1
        ids[cheat.instance_id] += 1
    if faults:
        raise ConfigError("\n".join(faults))
    repos = Counter(known[name]["repo"] for name in ids)
    body = "".join(f"  {kind}: {number}\n" for kind, number in sorted(kinds.items()))
    return f"{sum(kinds.values())} cheats on {len(ids)} rows of {len(repos)} repositories\n{body}"


def _faults(row: Mapping[str, Any], mirror: str, patch: bytes) -> Iterator[str]:
    """A patch that doesn't apply to the base, or Python that no longer compiles where it did."""
    tree = tree_of(row, mirror)
    touched = set(re.findall(rb"^diff --git a/(.+) b/.+$", patch, re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder), {name.decode(): tree.before(name.decode()) for name in touched}, {})
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            cwd=folder,
            input=patch,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            yield f"the patch doesn't apply: {done.stderr.decode('utf-8', 'replace').strip()}"
        for path in Path(folder).rglob("*.py"):
            if path.is_symlink() or not path.is_file():
                continue
            try:
                ast.parse(path.read_bytes())
            except SyntaxError as fault:
                yield f"{path.relative_to(folder)} doesn't compile: {fault}"


def main() -> None:
    """Build every recipe and print the counts; a recipe that doesn't apply ends it."""
    parser = argparse.ArgumentParser(description="Build the blind cheats and count them.")
    parser.add_argument("rows", type=Path)
    parser.add_argument(
        "--mirror", required=True, help="path of a bare repository, with {owner} and {name} in it"
    )
    given = parser.parse_args()
    print(_check(given.rows, given.mirror), end="")


if __name__ == "__main__":
    main()

"""Yield on a list of known bugs: pairs of commits, one with the bug and one with the fix.

    python -m benchmarks.bugs --bugs bugs.json --mirror "DIR/{owner}+{name}/repo" --workspace DIR

The list is JSON: objects with `id`, `github`, `buggy_commit_id`, `fixed_commit_id` (the fields of BugsInPy).
Each pair becomes a row, its change divided into tests and the rest, and goes through the line like any
row. Resumable. Prints a table per repository: a bug counts where a test fails with it and passes without.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.line import print_ends, run_line
from benchmarks.options import parser, sampled
from miner.candidates import test_paths, touched
from swequarry.errors import SwequarryError
from swequarry.git.repository import Repository
from swequarry.git.trees import TreeWorkbench
from swequarry.records import CommitSha
from swequarry.report.model import ReportData


def main() -> None:
    """Make the rows, run the line over them and print the table."""
    options = parser(__doc__ or "")
    options.add_argument("--bugs", type=Path, required=True)
    options.add_argument("repositories", nargs="*", help="only the bugs of these")
    given = options.parse_args()
    listed = json.loads(given.bugs.read_bytes())
    bugs = sampled([bug for bug in listed if _chosen(bug, given.repositories)], given.sample)
    given.workspace.mkdir(parents=True, exist_ok=True)
    rows = given.workspace / "bugs.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in _rows(bugs, given.mirror)), encoding="utf-8")
    data, _ = run_line(
        {
            "workspace": str(given.workspace),
            "workers": given.workers,
            "source": {"kind": "rows", "rows": str(rows), "mirror": given.mirror},
        }
    )
    _print(bugs, data)


def _chosen(bug: Mapping[str, Any], repositories: list[str]) -> bool:
    return not repositories or bug["github"] in repositories


def _rows(bugs: Iterable[Mapping[str, Any]], mirror: str) -> Iterable[dict[str, Any]]:
    for bug in bugs:
        owner, _, name = bug["github"].partition("/")
        try:
            repository = Repository.open(Path(mirror.format(owner=owner, name=name)))
            yield _row(bug, repository)
        except SwequarryError as error:
            print(f"{bug['id']}: left out: {error}")


def _row(bug: Mapping[str, Any], repository: Repository) -> dict[str, Any]:
    buggy, fixed = (CommitSha(bug[f"{state}_commit_id"]) for state in ("buggy", "fixed"))
    before, after = repository.tree_of(buggy), repository.tree_of(fixed)
    with TreeWorkbench(repository) as bench:
        changes = bench.changes(before, after)
        tests = test_paths(changes)
        rest = [path for path in touched(changes) if path not in set(tests)]
        patches = [bench.diff(before, after, paths) for paths in (rest, tests)]
    return {
        "instance_id": bug["id"],
        "repo": bug["github"],
        "base_commit": buggy,
        "patch": patches[0].decode("utf-8", "surrogateescape"),
        "test_patch": patches[1].decode("utf-8", "surrogateescape"),
        "problem_statement": bug["id"],
        "created_at": repository.commit_time(fixed).isoformat(),
    }


def _print(bugs: Iterable[Mapping[str, Any]], data: ReportData) -> None:
    verified = {entry.task.instance_id for entry in data.tasks}
    listed = Counter(str(bug["github"]) for bug in bugs)
    found = Counter(str(bug["github"]) for bug in bugs if bug["id"] in verified)
    print("repository\tbugs\tverified")
    for repo in sorted(listed):
        print(repo, listed[repo], found[repo], sep="\t")
    print("total", listed.total(), found.total(), sep="\t")
    print_ends(data)


if __name__ == "__main__":
    main()

"""Yield on real history: candidates from clones, how they ended, per repository.

    python -m benchmarks.history --mirror "DIR/{owner}+{name}/repo" --workspace DIR owner/name ...
    ... --years 2016 2019 2022 2025 --limit 10      the newest ten of each of these years

Resumable: the same call continues. `candidates = accepted + rejected + failed`, and what a stopped run left
open, is checked per repository. The second table leaves out what the miner rejected: it has the pull requests
that change both tests and source, and the share of them that became verified tasks.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks.line import print_ends, run_line
from benchmarks.options import line_settings, parser
from swequarry.report.model import ReportData
from swequarry.report.text import reason_rows, yield_rows

_COLUMNS = ("candidates", "accepted", "from_commits", "rejected", "failed")


def main() -> None:
    """Run the line over the repositories, once per year where years are named, and print the tables."""
    options = parser(__doc__ or "")
    options.add_argument("repositories", nargs="+")
    options.add_argument("--limit", type=int, default=8, help="newest candidates per repository")
    options.add_argument("--years", type=int, nargs="*", default=[], help="years of the merge, in UTC")
    given = options.parse_args()
    source = {
        "kind": "git",
        "repositories": given.repositories[: given.sample],
        "mirror": given.mirror,
        "limit": given.limit,
    }
    totals: dict[str, Counter[str]] = {}
    yields: dict[tuple[str, str], Counter[str]] = {}
    reasons: Counter[str] = Counter()
    details: list[ReportData] = []
    for span in _spans(given.years):
        data, _ = run_line({**line_settings(given), "source": source | span})
        for row in yield_rows(data):
            if row.candidates != row.accepted + row.rejected + row.failed + row.open:
                raise SystemExit(f"the books of {row.repo} don't add up")
            totals.setdefault(row.repo, Counter()).update({name: getattr(row, name) for name in _COLUMNS})
        reasons.update({reason.code: reason.count for reason in reason_rows(data)})
        _count(yields, str(span.get("since", "all"))[:4], data)
        details.append(data)
    print("repository", *_COLUMNS, sep="\t")
    for repo, counts in totals.items():
        print(repo, *(counts[name] for name in _COLUMNS), sep="\t")
    print("total", *(sum(c[name] for c in totals.values()) for name in _COLUMNS), sep="\t")
    for code, count in reasons.most_common():
        print(code, count, sep="\t")
    _print_yields(yields)
    for data in details:
        print_ends(data, without="mine")


def _count(yields: dict[tuple[str, str], Counter[str]], year: str, data: ReportData) -> None:
    verified = [entry.task.initial_state.repo.full_name for entry in data.tasks]
    rejected = [entry.repo for entry in data.rejects if entry.stage != "mine"]
    failed = [entry.repo for entry in data.failures if entry.stage != "mine"]
    for repo in (*verified, *rejected, *failed):
        yields.setdefault((repo, year), Counter())["pulls"] += 1
    for repo in verified:
        yields[repo, year]["verified"] += 1


def _print_yields(yields: dict[tuple[str, str], Counter[str]]) -> None:
    print("repository", "year", "pulls", "verified", sep="\t")
    for (repo, year), counts in sorted(yields.items()):
        print(repo, year, counts["pulls"], counts["verified"], sep="\t")
    for year in sorted({year for _, year in yields}):
        pulls, verified = (
            sum(counts[name] for (_, y), counts in yields.items() if y == year)
            for name in ("pulls", "verified")
        )
        print("all", year, pulls, verified, f"{verified / pulls:.0%}", sep="\t")


def _spans(years: list[int]) -> Iterator[dict[str, Any]]:
    if not years:
        yield {}
    for year in years:
        yield {"since": f"{year}-01-01", "until": f"{year}-12-31"}


if __name__ == "__main__":
    main()

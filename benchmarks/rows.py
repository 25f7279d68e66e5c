"""Yield and agreement on a published dataset: how many rows verify, and do the lists agree?

    python -m benchmarks.rows --rows rows.jsonl --mirror "DIR/{owner}+{name}/repo" --workspace DIR

Resumable: the same call continues. Prints a table per repository, plainly and under the rule about sessions
that ended at a file (`benchmarks.agreement`), and each difference with the name of its class.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from benchmarks.agreement import Agreement, Seen, classes, compare, extra_classes, seen
from benchmarks.line import median_s, print_ends, run_line
from benchmarks.options import line_settings, parser, sampled
from miner.sources.rows import Row, read_rows
from swequarry.ledger.attempts import AttemptStatus
from swequarry.ledger.queries import attempts_of
from swequarry.pipeline.workspace import Workspace
from swequarry.report.model import ReportData, TaskEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One repository of the table."""

    rows: int
    verified: int
    contained: int
    exact: int
    p2p_contained: int
    contained_under_rule: int
    exact_under_rule: int


_HEAD = (
    *("rows", "verified", "F2P_contained", "F2P_exact", "P2P_contained"),
    *("F2P_contained_under_rule", "F2P_exact_under_rule"),
)


def main() -> None:
    """Run the line over the rows and print the table."""
    options = parser(__doc__ or "")
    options.add_argument("--rows", type=Path, required=True)
    given = options.parse_args()
    rows = [row for row in read_rows(given.rows) if isinstance(row, Row)]
    chosen = sampled(rows, given.sample)
    data, workspace = run_line(
        {
            **line_settings(given),
            "interface": {"policy": "keep"},
            "testwriter": {"enabled": False},
            "source": {
                "kind": "rows",
                "rows": str(_write(chosen, given.rows, given.workspace)),
                "mirror": given.mirror,
            },
        }
    )
    _print(chosen, data, workspace)


def _write(rows: Sequence[Row], source: Path, workspace: Path) -> Path:
    names = {row.instance_id for row in rows}
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "rows.jsonl"
    lines = [line for line in source.read_bytes().split(b"\n") if line.strip()]
    path.write_bytes(b"".join(line + b"\n" for line in lines if json.loads(line)["instance_id"] in names))
    return path


def _print(rows: Sequence[Row], data: ReportData, workspace: Workspace) -> None:
    verified = {entry.task.instance_id: entry for entry in data.tasks}
    found: dict[str, dict[str, Agreement | None]] = defaultdict(dict)
    for row in rows:
        ours = verified.get(row.instance_id)
        lists = (row.fail_to_pass or (), row.pass_to_pass or ())
        agreement = compare(ours.task.verification, *lists) if ours else None
        found[row.repo.full_name][row.instance_id] = agreement
        if ours and agreement:
            _print_differences(row, agreement, _runs_of(ours, workspace))
    print("repository", *_HEAD, sep="\t")
    total: Counter[str] = Counter()
    for repo, agreements in sorted(found.items()):
        line = astuple(_line(tuple(agreements.values())))
        print(repo, *line, sep="\t")
        total.update(dict(zip(_HEAD, line, strict=True)))
    print("total", *(total[name] for name in _HEAD), sep="\t")
    print(f"median {median_s(data):.1f} s per verified task")
    print_ends(data)


def _runs_of(entry: TaskEntry, workspace: Workspace) -> Seen:
    """Return what the runs of a verified task said, by its matrix and by what was observed beside it."""
    matrix = entry.task.verification.matrix
    tests = json.loads(workspace.blobs.get(matrix)) if matrix else {"tests": {}}
    attempts = attempts_of(workspace.ledger, [entry.task.instance_id])
    done = [a.observed for a in attempts if a.key.stage == "verify" and a.status is AttemptStatus.DONE]
    return seen(tests, done[-1] if done else {})


def _line(agreements: Sequence[Agreement | None]) -> Line:
    known = [agreement for agreement in agreements if agreement is not None]
    return Line(
        rows=len(agreements),
        verified=len(known),
        contained=sum(agreement.fail_to_pass_contained for agreement in known),
        exact=sum(agreement.fail_to_pass_exact for agreement in known),
        p2p_contained=sum(agreement.pass_to_pass_contained for agreement in known),
        contained_under_rule=sum(agreement.under_rule_contained for agreement in known),
        exact_under_rule=sum(agreement.under_rule_exact for agreement in known),
    )


def _print_differences(row: Row, agreement: Agreement, runs: Seen) -> None:
    for name, tests in (("FAIL_TO_PASS", agreement.missing), ("PASS_TO_PASS", agreement.missing_p2p)):
        for named, count in classes(tests, runs, agreement.stopped_at).most_common():
            print(f"{row.instance_id}: {count} published {name} not in ours: {named}")
    for named, count in extra_classes(agreement.extra, row.pass_to_pass or ()).most_common():
        print(f"{row.instance_id}: {count} FAIL_TO_PASS more than published: {named}: {agreement.extra[0]}")


if __name__ == "__main__":
    main()

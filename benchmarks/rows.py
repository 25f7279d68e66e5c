"""Yield and agreement on a published dataset: how many rows verify, and do the lists agree?

    python -m benchmarks.rows --rows rows.jsonl --mirror "DIR/{owner}+{name}/repo" --workspace DIR

Resumable: the same call continues. Prints a table per repository and each difference with its reason.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agreement import Agreement, compare, reasons
from benchmarks.line import median_s, print_ends, run_line
from benchmarks.options import line_settings, parser, sampled
from miner.sources.rows import Row, read_rows
from swequarry.ledger.blobs import BlobStore
from swequarry.records import Verification
from swequarry.report.model import ReportData


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One repository of the table."""

    rows: int
    verified: int
    contained: int
    exact: int
    p2p_contained: int


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
            "source": {
                "kind": "rows",
                "rows": str(_write(chosen, given.rows, given.workspace)),
                "mirror": given.mirror,
            },
        }
    )
    _print(chosen, data, workspace.blobs)


def _write(rows: Sequence[Row], source: Path, workspace: Path) -> Path:
    names = {row.instance_id for row in rows}
    workspace.mkdir(parents=True, exist_ok=True)
    path = workspace / "rows.jsonl"
    lines = [line for line in source.read_bytes().split(b"\n") if line.strip()]
    path.write_bytes(b"".join(line + b"\n" for line in lines if json.loads(line)["instance_id"] in names))
    return path


def _print(rows: Sequence[Row], data: ReportData, blobs: BlobStore) -> None:
    verified = {entry.task.instance_id: entry.task.verification for entry in data.tasks}
    found: dict[str, dict[str, Agreement | None]] = defaultdict(dict)
    for row in rows:
        ours = verified.get(row.instance_id)
        agreement = compare(ours, row.fail_to_pass or (), row.pass_to_pass or ()) if ours else None
        found[row.repo.full_name][row.instance_id] = agreement
    print("repository\trows\tverified\tF2P contained\tF2P exact\tP2P contained")
    total: Counter[str] = Counter()
    for repo, agreements in sorted(found.items()):
        line = _line(tuple(agreements.values()))
        cells = (line.rows, line.verified, line.contained, line.exact, line.p2p_contained)
        print(repo, *cells, sep="\t")
        total.update(dict(zip(Line.__slots__, cells, strict=True)))
    print("total", *(total[name] for name in Line.__slots__), sep="\t")
    print(f"median {median_s(data):.1f} s per verified task")
    for instance, agreement in sorted((i, a) for each in found.values() for i, a in each.items() if a):
        _print_differences(instance, agreement, verified[instance], blobs)
    print_ends(data)


def _line(agreements: Sequence[Agreement | None]) -> Line:
    known = [agreement for agreement in agreements if agreement is not None]
    return Line(
        rows=len(agreements),
        verified=len(known),
        contained=sum(agreement.fail_to_pass_contained for agreement in known),
        exact=sum(agreement.fail_to_pass_exact for agreement in known),
        p2p_contained=sum(agreement.pass_to_pass_contained for agreement in known),
    )


def _print_differences(instance: str, agreement: Agreement, ours: Verification, blobs: BlobStore) -> None:
    matrix = json.loads(blobs.get(ours.matrix)) if ours.matrix else {"tests": {}}
    for name, tests in (("FAIL_TO_PASS", agreement.missing), ("PASS_TO_PASS", agreement.missing_p2p)):
        for reason, count in reasons(tests, matrix).most_common():
            print(f"{instance}: {count} published {name} not in ours: {reason}")
    if agreement.extra:
        print(
            f"{instance}: {len(agreement.extra)} FAIL_TO_PASS more than published: {agreement.extra[0]} ..."
        )


if __name__ == "__main__":
    main()

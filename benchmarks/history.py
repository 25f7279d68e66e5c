"""Yield on real history: candidates from clones, how they ended, per repository.

    python -m benchmarks.history --mirror "DIR/{owner}+{name}/repo" --workspace DIR owner/name ...

Resumable: the same call continues. `candidates = accepted + rejected + failed` is checked per repository.
"""

import sys

from benchmarks.options import parser
from swequarry.config import parse_settings
from swequarry.pipeline.publish import publish, read_run
from swequarry.pipeline.run import run_settings
from swequarry.pipeline.workspace import Workspace
from swequarry.report.text import reason_rows, yield_rows


def main() -> None:
    """Run the line over the repositories and print the table."""
    options = parser(__doc__ or "")
    options.add_argument("repositories", nargs="+")
    options.add_argument("--limit", type=int, default=8, help="newest candidates per repository")
    given = options.parse_args()
    settings = parse_settings(
        {
            "workspace": str(given.workspace),
            "workers": given.workers,
            "source": {
                "kind": "git",
                "repositories": given.repositories[: given.sample],
                "mirror": given.mirror,
                "limit": given.limit,
            },
        }
    )
    summary = run_settings(settings, lambda _phase, event: print(event.item, event.status, file=sys.stderr))
    workspace = Workspace.open(settings)
    publish(workspace, summary.run)
    data = read_run(workspace, summary.run)
    print("repository\tcandidates\taccepted\tof them from commits\trejected\tfailed")
    for row in yield_rows(data):
        if row.candidates != row.accepted + row.rejected + row.failed + row.open:
            raise SystemExit(f"the books of {row.repo} don't add up")
        print(row.repo, row.candidates, row.accepted, row.from_commits, row.rejected, row.failed, sep="\t")
    for reason in reason_rows(data):
        print(reason.code, reason.count, reason.example, sep="\t")


if __name__ == "__main__":
    main()

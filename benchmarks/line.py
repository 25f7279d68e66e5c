"""One run of the line for a benchmark: progress to stderr, the finished run as data."""

import statistics
import sys
from collections.abc import Mapping
from typing import Any

from swequarry.config import parse_settings
from swequarry.pipeline.publish import publish, read_run
from swequarry.pipeline.run import run_settings
from swequarry.pipeline.workspace import Workspace
from swequarry.report.model import ReportData


def median_s(data: ReportData) -> float:
    """Return the median wall time of a verified task over all its stages but the mining, in seconds."""
    times = [sum(t for stage, t in e.durations_s.items() if stage != "mine") for e in data.tasks]
    return statistics.median(times) if times else 0.0


def print_ends(data: ReportData, *, without: str = "") -> None:
    """Print why each item that is no task is none, but for those that ended at one stage."""
    for reject in (r for r in data.rejects if r.stage != without):
        print(f"{reject.item}: {reject.code.value}: {reject.message}: {list(reject.evidence[-3:])}")
    for failure in (f for f in data.failures if f.stage != without):
        print(f"{failure.item}: failed at {failure.boundary.value}: {failure.message}")


def run_line(settings: Mapping[str, Any]) -> tuple[ReportData, Workspace]:
    """Run the line with plain settings; return how every item ended, and where. Resumes what is there."""
    parsed = parse_settings(dict(settings))
    summary = run_settings(parsed, lambda _phase, event: print(event.item, event.status, file=sys.stderr))
    workspace = Workspace.open(parsed)
    publish(workspace, summary.run)
    return read_run(workspace, summary.run), workspace

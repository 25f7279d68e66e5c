"""One run of the line for a benchmark: progress to stderr, the finished run as data."""

import sys
from collections.abc import Mapping
from typing import Any

from swequarry.config import parse_settings
from swequarry.pipeline.publish import publish, read_run
from swequarry.pipeline.run import run_settings
from swequarry.pipeline.workspace import Workspace
from swequarry.report.model import ReportData


def run_line(settings: Mapping[str, Any]) -> ReportData:
    """Run the line with plain settings and return how every item ended; resumes what a workspace holds."""
    parsed = parse_settings(dict(settings))
    summary = run_settings(parsed, lambda _phase, event: print(event.item, event.status, file=sys.stderr))
    workspace = Workspace.open(parsed)
    publish(workspace, summary.run)
    return read_run(workspace, summary.run)

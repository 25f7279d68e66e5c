"""Writes the dataset and the report of a run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swequarry.config import ExportSettings, parse_settings
from swequarry.export.interface import Exporter, FunnelLine, ImageReference, Surroundings
from swequarry.export.manifest import MANIFEST
from swequarry.export.swebench import SwebenchExporter
from swequarry.pipeline.reporting import Reporter, last_run, tasks_of
from swequarry.pipeline.scorecards import run_scorecards
from swequarry.pipeline.workspace import Workspace
from swequarry.report.counts import ends, not_tried
from swequarry.report.html import write_report
from swequarry.report.model import ReportData
from swequarry.report.text import funnel_rows

_DEFAULT = SwebenchExporter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What was written, and the counts of the run; `not_tried` are among the rejected."""

    dataset: Path
    report: Path
    dataset_sha256: str
    accepted: int
    rejected: int
    failed: int
    unfinished: int
    not_tried: int = 0
    failures: tuple[str, ...] = ()


def read_run(workspace: Workspace, number: int | None = None) -> ReportData:
    """Return what the report of a run shows; the newest run by default."""
    chosen = last_run(workspace)
    if number is not None:
        chosen = next(run for run in workspace.ledger.runs() if run.number == number)
    sha256, left_out = _manifest_facts(workspace.dataset / MANIFEST)
    return Reporter(workspace, chosen).read(dataset_sha256=sha256, left_out=left_out)


def report_of(workspace: Workspace, number: int) -> ReportData:
    """Return what the report of a run shows, with the scorecards of its repositories."""
    run = next(run for run in workspace.ledger.runs() if run.number == number)
    return replace(read_run(workspace, number), scorecards=run_scorecards(workspace, run))


def export_run(
    workspace: Workspace,
    number: int,
    destination: Path,
    settings: ExportSettings | None = None,
    exporter: Exporter = _DEFAULT,
    images: Mapping[str, ImageReference] | None = None,
    deprecated: Mapping[str, str] | None = None,
) -> str:
    """Write the tasks of a run as a dataset folder and return the dataset's hash.

    `images` are those in which tasks were verified, `deprecated` tell why tasks stay out, by instance id.

    Raises:
        InputError: the destination holds something that isn't a dataset.
        StorageError: it can't be written; what was there stays.
    """
    run = next(run for run in workspace.ledger.runs() if run.number == number)
    chosen = settings or parse_settings(dict(run.settings)).export
    funnel = funnel_of(read_run(workspace, number))
    surroundings = Surroundings(funnel=funnel, images=images or {}, deprecated=deprecated or {})
    tasks = tasks_of(workspace, number)
    exporter.write(tasks, workspace.blobs.get, destination, chosen, surroundings)
    sha256, _ = _manifest_facts(destination / MANIFEST)
    return sha256 or ""


def publish(workspace: Workspace, number: int) -> Published:
    """Write dataset and report of a run into its workspace."""
    sha256 = export_run(workspace, number, workspace.dataset)
    data = report_of(workspace, number)
    write_report(data, workspace.blobs.get, workspace.report)
    counts = ends(data)
    return Published(
        dataset=workspace.dataset,
        report=workspace.report,
        dataset_sha256=sha256,
        accepted=counts.accepted,
        rejected=counts.rejected,
        failed=counts.failed,
        unfinished=counts.open,
        not_tried=not_tried(data),
        failures=tuple(f"{entry.item}: {entry.message}" for entry in data.failures),
    )


def funnel_of(data: ReportData) -> tuple[FunnelLine, ...]:
    """Return the funnel of a run as cards show it."""
    rows = funnel_rows(data)
    lines = [FunnelLine(label="candidates", count=ends(data).candidates)]
    return (*lines, *(FunnelLine(label=f"{row.stage.lower()}", count=row.passed) for row in rows))


def _manifest_facts(path: Path) -> tuple[str | None, dict[str, str]]:
    """Return the dataset's hash and why tasks were left out, as its manifest says."""
    if not path.is_file():
        return None, {}
    manifest = json.loads(path.read_bytes())
    return manifest["dataset_sha256"], {item["instance_id"]: item["reason"] for item in manifest["left_out"]}

"""Commands that write something: export, report, schema, gc."""

from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json
from swequarry.cli.options import Json, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.config import Settings, parse_settings
from swequarry.errors import ExitCode
from swequarry.export.columns import RowForm, arrow_schema
from swequarry.ledger.gc import collect
from swequarry.pipeline.publish import export_run, read_run
from swequarry.pipeline.reporting import last_run
from swequarry.report.html import write_report

group = command_group()


@group.command()
def export(
    destination: Annotated[Path | None, typer.Argument(help="Folder; default: `dataset` of the run.")] = None,
    *,
    include_statement_from_commits: Annotated[
        bool, typer.Option(help="Also tasks whose statement was made from commit messages.")
    ] = False,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Write the tasks of the newest run as a SWE-bench 5 dataset (JSONL and parquet)."""
    opened = open_workspace(workspace)
    run = last_run(opened)
    settings = parse_settings(dict(run.settings)).export
    if include_statement_from_commits:
        settings = settings.model_copy(update={"include_statement_from_commits": True})
    folder = destination or opened.dataset
    sha256 = export_run(opened, run.number, folder, settings)
    if as_json:
        print_json({"dataset": str(folder), "dataset_sha256": sha256})
    else:
        typer.echo(f"dataset: {folder}\ndataset sha256: {sha256}")
    return ExitCode.OK


@group.command()
def report(
    destination: Annotated[
        Path | None, typer.Argument(help="File; default: `report.html` of the run.")
    ] = None,
    *,
    workspace: Workspace_ = None,
) -> int:
    """Write the report of the newest run as one HTML file that needs no network."""
    opened = open_workspace(workspace)
    path = write_report(read_run(opened), opened.blobs.get, destination or opened.report)
    typer.echo(str(path))
    return ExitCode.OK


@group.command()
def schema(
    what: Annotated[str, typer.Argument(help="`settings`, `row` or `row-strings`.")] = "settings",
) -> int:
    """Print a schema: of the settings (JSON Schema) or of the dataset's rows (column: type)."""
    match what:
        case "settings":
            print_json(Settings.model_json_schema())
        case "row" | "row-strings":
            form = RowForm.LISTS if what == "row" else RowForm.STRINGS
            print_json({field.name: str(field.type) for field in arrow_schema(form)})
        case _:
            note(f"error: no schema {what!r}; there are `settings`, `row` and `row-strings`")
            return ExitCode.USAGE
    return ExitCode.OK


@group.command()
def gc(*, workspace: Workspace_ = None, as_json: Json = False) -> int:
    """Delete blobs that nothing in the ledger names."""
    opened = open_workspace(workspace)
    done = collect(opened.ledger, opened.blobs)
    told = {"deleted": done.deleted, "freed_bytes": done.freed_bytes, "kept": done.named + done.young}
    if as_json:
        print_json(told)
    else:
        typer.echo(f"deleted {done.deleted} blobs, {done.freed_bytes} bytes; kept {told['kept']}")
    return ExitCode.OK

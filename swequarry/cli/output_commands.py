"""Commands about what comes out: export, check, report, schema, gc."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines
from swequarry.cli.options import Deprecated, Images, Json, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.config import Settings, parse_settings
from swequarry.errors import ExitCode, UsageError
from swequarry.export.adapters.harbor import HarborExporter
from swequarry.export.check import check_folder
from swequarry.export.columns import RowForm, arrow_schema
from swequarry.export.formats import exporter_of
from swequarry.export.images import read_images
from swequarry.export.interface import Exporter
from swequarry.export.manifest import MANIFEST
from swequarry.export.push import plan_push
from swequarry.export.push import push as send
from swequarry.export.releases.deprecated import choose_deprecated, read_deprecated
from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.gc import collect
from swequarry.pipeline.publish import export_run, report_of
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.report.html import write_report

group = command_group()
_SHOWN = 5


@group.command()
def export(
    destination: Annotated[Path | None, typer.Argument(help="Folder; default: `dataset` of the run.")] = None,
    *,
    format_: Annotated[
        str, typer.Option("--format", "-f", help="swebench, swebench-repo, harbor, rebench or parquet.")
    ] = "swebench",
    images: Images = None,
    shared_verifier: Annotated[
        bool, typer.Option("--shared-verifier", help="harbor: grade in the solver's container.")
    ] = False,
    deprecated: Deprecated = None,
    include_statement_from_commits: Annotated[
        bool, typer.Option(help="Also tasks whose statement was made from commit messages.")
    ] = False,
    push: Annotated[
        str | None, typer.Option(help="Then send it to this Hugging Face dataset repository, OWNER/NAME.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="A repository made by --push is public.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --push: say what would be sent.")] = False,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Write the tasks of the newest run as a dataset.

    Formats that start containers (harbor, swebench-repo) need tasks that were
    verified in docker (`--set sandbox.backend=docker`) and --images.

    Example: `swequarry export out --format harbor --images images.json`
    """
    exporter = chosen_exporter(format_, shared=shared_verifier)
    if dry_run and push is None:
        raise UsageError("--dry-run says what --push would send; give --push OWNER/NAME as well")
    if format_ != "swebench" and destination is None:
        raise UsageError("name a folder: the run's own `dataset` keeps the format swebench")
    opened = open_workspace(workspace)
    run = last_run(opened)
    settings = parse_settings(dict(run.settings)).export
    if include_statement_from_commits:
        settings = settings.model_copy(update={"include_statement_from_commits": True})
    folder = destination or opened.dataset
    known = read_images(images) if images else {}
    chosen = choose_deprecated(
        tasks_of(opened, run.number), read_deprecated(deprecated) if deprecated else ()
    )
    tell_unknown(entry.instance_id for entry in chosen.unknown)
    sha256 = export_run(opened, run.number, folder, settings, exporter, known, chosen.deprecated)
    told = {"dataset": str(folder), "dataset_sha256": sha256, "format": exporter.name, **_counts(folder)}
    if push is not None:
        told |= pushed(folder, push, public=public, dry_run=dry_run)
    if as_json:
        print_json(told)
    else:
        print_lines(f"{name.replace('_', ' ')}: {value}" for name, value in told.items())
    return ExitCode.OK


def tell_unknown(names: Iterable[str]) -> None:
    """Say which entries of a deprecation list are about no task here, or about another version of one."""
    found = sorted(names)
    if found:
        shown = ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        note(f"{len(found)} deprecated tasks aren't in this run, or not in the version of the list: {shown}")


def _counts(folder: Path) -> dict[str, str]:
    """Return how many tasks were written and why others were not: an empty export must not look full."""
    counts = json.loads((folder / MANIFEST).read_bytes())["counts"]
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts["left_out_by_reason"].items())
    return {
        "tasks": f"{counts['rows']} of {counts['given']}",
        **({"left_out": f"{reasons}; {folder / MANIFEST} names each"} if reasons else {}),
    }


def chosen_exporter(name: str, *, shared: bool) -> Exporter:
    """Return the exporter of a format, in Harbor's shared mode where that is asked for."""
    if not shared:
        return exporter_of(name)
    if name != "harbor":
        raise UsageError("--shared-verifier is a mode of --format harbor")
    return HarborExporter(shared=True)


def pushed(folder: Path, repository: str, *, public: bool, dry_run: bool) -> dict[str, str]:
    """Send a folder to a dataset repository, or say what would be sent; return what to tell of it."""
    plan = plan_push(folder, repository, private=not public)
    if not dry_run:
        return {"pushed": send(folder, plan)}
    visible = "private" if plan.private else "public"
    said = f"{len(plan.files)} files, {plan.size_bytes} bytes, to the {visible} dataset {plan.repository}"
    return {"would_push": said}


@group.command()
def check(
    folder: Annotated[Path, typer.Argument(help="A release, or an exported folder of any format.")],
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended without guessing.")] = False,
    as_json: Json = False,
) -> int:
    """Check a release or an exported folder: files, hashes, each test id through the named log parser.

    --fix writes back only bytes that have the hash of the manifest: data files made again from each other,
    programs that every task has alike, and lost executable bits.
    """
    found = check_folder(folder, fix=fix)
    if as_json:
        print_json(asdict(found))
    else:
        print_lines(f"mended: {path}" for path in found.mended)
        print_lines(f"{item.path}: {item.problem}" for item in found.problems)
        note(f"{found.format}, {found.tasks} tasks: {len(found.problems)} problems")
    return ExitCode.FINDINGS if found.problems else ExitCode.OK


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
    data = report_of(opened, last_run(opened).number)
    path = write_report(data, opened.blobs.get, destination or opened.report)
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
    if not isinstance(opened.blobs, BlobStore):
        raise UsageError(
            "these blobs are in an object store, which is never listed: let its own rules delete what is "
            "old, once no workspace needs it"
        )
    done = collect(opened.ledger, opened.blobs)
    told = {"deleted": done.deleted, "freed_bytes": done.freed_bytes, "kept": done.named + done.young}
    if as_json:
        print_json(told)
    else:
        typer.echo(f"deleted {done.deleted} blobs, {done.freed_bytes} bytes; kept {told['kept']}")
    return ExitCode.OK

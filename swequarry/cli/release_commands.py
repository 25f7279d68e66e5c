"""Commands about releases: release, diff."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Deprecated, Images, Json, Set, Workspace_
from swequarry.cli.output_commands import chosen_exporter, pushed, tell_unknown
from swequarry.cli.settings import parse_assignments, with_changes
from swequarry.cli.workspace import open_workspace
from swequarry.config import Settings, parse_settings
from swequarry.errors import ExitCode, UsageError
from swequarry.export.images import read_images
from swequarry.export.manifest import MANIFEST
from swequarry.export.releases.deprecated import read_deprecated
from swequarry.export.releases.diff import DIFF_SCHEMA, ChangedTask, Difference, compare
from swequarry.export.releases.read import read_dataset
from swequarry.export.releases.write import Released
from swequarry.ledger.runs import Run
from swequarry.pipeline.release import ReleaseOrder, release_run
from swequarry.pipeline.reporting import last_run
from swequarry.pipeline.workspace import Workspace

group = command_group()
_TESTS_SHOWN = 10


@group.command()
def release(
    destination: Annotated[Path, typer.Argument(help="Folder of the release.")],
    *,
    version: Annotated[str, typer.Option(help="Its version, such as 1.0; names one content for good.")],
    name: Annotated[str | None, typer.Option(help="Its name; default: `export.name` of the run.")] = None,
    test_repository: Annotated[
        list[str] | None,
        typer.Option(help="All tasks of this repository test: OWNER/NAME or OWNER/*; repeatable."),
    ] = None,
    test_share: Annotated[
        float | None, typer.Option(min=0, max=1, help="About this share of all repositories tests.")
    ] = None,
    test_since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="What was merged since then (UTC) tests."
        ),
    ] = None,
    deprecated: Deprecated = None,
    format_: Annotated[
        str, typer.Option("--format", "-f", help="swebench, swebench-repo, harbor, rebench or parquet.")
    ] = "swebench",
    images: Images = None,
    push: Annotated[
        str | None, typer.Option(help="Then send it to this Hugging Face dataset repository, OWNER/NAME.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="A repository made by --push is public.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --push: say what would be sent.")] = False,
    set_: Set = None,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Write a named version of the newest run's dataset: splits, budgets, flags, reasons, hashes.

    Without one of the three --test options all tasks test. No training task has a base that holds the fix of
    a test task: such tasks are left out, with the evidence in the manifest. See docs/releases.md.

    Example: `swequarry release out/tasks-1.0 --version 1.0 --test-since 2024-01-01`
    """
    if dry_run and push is None:
        raise UsageError("--dry-run says what --push would send; give --push OWNER/NAME as well")
    opened = open_workspace(workspace)
    run = last_run(opened)
    options = {
        "release.test_repositories": list(test_repository) if test_repository else None,
        "release.test_share": test_share,
        "release.test_since": test_since.isoformat() if test_since else None,
    }
    settings = _settings(opened, run, set_ or [], options)
    order = ReleaseOrder(
        name=name or settings.export.name,
        version=version,
        settings=settings,
        exporter=chosen_exporter(format_, shared=False),
        images=read_images(images) if images else {},
        deprecated=read_deprecated(deprecated) if deprecated else (),
    )
    made = release_run(opened, run, order, destination)
    tell_unknown(made.manifest["deprecated_without_a_task"])
    told = _told(made, destination)
    if push is not None:
        told |= pushed(destination, push, public=public, dry_run=dry_run)
    if as_json:
        print_json(told)
    else:
        print_lines(_prose(told, destination))
    return ExitCode.OK


def _settings(
    workspace: Workspace, run: Run, assignments: Sequence[str], options: dict[str, Any]
) -> Settings:
    """Return the settings of a run with what was asked for otherwise; nothing else of it can change now."""
    changes = parse_assignments(assignments)
    if foreign := [key for key in changes if key.partition(".")[0] not in ("release", "export")]:
        raise UsageError(f"--set {foreign[0]}: of a finished run only `release` and `export` can be set")
    settings = with_changes(parse_settings(dict(run.settings)), changes, "--set")
    here = {**options, "workspace": str(workspace.root)}
    return with_changes(settings, here, "command line")


def _told(made: Released, destination: Path) -> dict[str, Any]:
    manifest = made.manifest
    kept = ("schema_version", "name", "version", "format", "dataset_sha256", "verified_sha256", "counts")
    return {
        **{key: manifest[key] for key in kept},
        "release": str(destination),
        "release_sha256": made.release_sha256,
        "splits": {split: told["tasks"] for split, told in manifest["splits"].items()},
    }


def _prose(told: dict[str, Any], destination: Path) -> Iterator[str]:
    counts = told["counts"]
    splits = ", ".join(f"{count} {split}" for split, count in told["splits"].items()) or "no task"
    yield f"{told['name']} {told['version']}: {splits}"
    yield f"rows: {counts['rows']} of {counts['given']}"
    for title in ("left_out_by_reason", "answer_in_base_by_kind"):
        if counts[title]:
            listed = ", ".join(f"{count} {word}" for word, count in counts[title].items())
            what = title.partition("_by_")[0].replace("_", " ")
            yield f"{what}: {listed}; {destination / MANIFEST} names each"
    if counts["unread_files"]:
        yield f"{counts['unread_files']} files of base trees are missing from the mirrors and weren't read"
    if counts["without_measured_budget"]:
        yield f"{counts['without_measured_budget']} tasks have no measured budget"
    yield f"release: {told['release']}"
    yield f"release sha256: {told['release_sha256']}"
    if "pushed" in told or "would_push" in told:
        yield str(told.get("pushed") or told["would_push"])


@group.command()
def diff(
    old: Annotated[Path, typer.Argument(help="A release, or an exported folder.")],
    new: Annotated[Path, typer.Argument(help="Another one.")],
    *,
    as_json: Json = False,
) -> int:
    """Compare two releases or exported sets: tasks, fields and tests; exit code 1 if they differ.

    Example: `swequarry diff out/tasks-1.0 out/tasks-1.1`
    """
    found = compare(read_dataset(old), read_dataset(new))
    if as_json:
        print_json({"schema_version": DIFF_SCHEMA, **asdict(found)})
    else:
        print_lines(_difference(found))
    return ExitCode.FINDINGS if found else ExitCode.OK


def _difference(found: Difference) -> Iterator[str]:
    names = (" ".join(filter(None, (one["name"], one["version"]))) for one in (found.old, found.new))
    yield " -> ".join(names)
    yield (
        f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed, "
        f"{found.unchanged} unchanged"
    )
    yield from (f"+ {name}" for name in found.added)
    yield from (
        f"- {gone.instance_id}" + (f"  ({gone.reason})" if gone.reason else "") for gone in found.removed
    )
    for task in found.changed:
        yield from _changes(task)


def _changes(task: ChangedTask) -> Iterator[str]:
    yield f"~ {task.instance_id}"
    if task.split is not None:
        yield f"    split: {task.split[0] or 'none'} -> {task.split[1] or 'none'}"
    for tests in task.tests:
        yield f"    {tests.list_name}: {len(tests.added)} added, {len(tests.removed)} removed"
        changes = [*(f"+ {test}" for test in tests.added), *(f"- {test}" for test in tests.removed)]
        yield from (f"      {line}" for line in changes[:_TESTS_SHOWN])
        if len(changes) > _TESTS_SHOWN:
            yield f"      and {len(changes) - _TESTS_SHOWN} more; see them with --json"
    yield from (f"    {one.field}: {one.old} -> {one.new}" for one in task.fields)
    if task.answer_in_base:
        yield "    places of the base that tell the answer"

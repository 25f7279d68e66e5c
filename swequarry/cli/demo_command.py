"""The demo: builds the example repository, runs the whole line, checks every end against the script."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_table
from swequarry.cli.options import Json, Quiet
from swequarry.cli.progress import watched
from swequarry.cli.settings import resolve
from swequarry.errors import ExitCode
from swequarry.pipeline.demo.build import MIRROR_TEMPLATE, REPO, build_repository, write_issues
from swequarry.pipeline.demo.check import DemoEnd, compare_ends
from swequarry.pipeline.publish import publish, read_run
from swequarry.pipeline.run import run_settings
from swequarry.pipeline.workspace import Workspace

group = command_group()


@group.command()
def demo(
    *,
    workspace: Annotated[Path, typer.Option("--workspace", "-w", help="Folder of the demo.")] = Path(
        "demo-quarry"
    ),
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a setting.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Build an example repository with nineteen pull requests and run the whole line over it.

    Needs git and a package index; no root, no Docker, no token. Exit code 1 if a pull request ends in
    another way than the script of the example says.
    """
    mirrors = workspace / "source"
    build_repository(mirrors)
    write_issues(mirrors / "issues.jsonl")
    options = {
        "workspace": str(workspace),
        "source.kind": "git",
        "source.repositories": [REPO.full_name],
        "source.mirror": str(mirrors.absolute() / MIRROR_TEMPLATE),
        "source.issues": str(mirrors / "issues.jsonl"),
        "export.name": "swequarry-demo",
        "strength.mutants": 5,
        "testwriter.budget_runs": 20,
        "strength.budget_s": 3600,
    }
    settings = resolve(None, set_ or [], options)
    with watched(quiet=quiet) as watch:
        summary = run_settings(settings, watch)
    opened = Workspace.open(settings)
    published = publish(opened, summary.run)
    ends = compare_ends(read_run(opened, summary.run))
    surprises = [end for end in ends if not end.as_expected]
    places = {
        "report": str(published.report),
        "dataset": str(published.dataset),
        "rejects": f"swequarry rejects -w {workspace}",
        "dataset_sha256": published.dataset_sha256,
    }
    if as_json:
        print_json({**places, "pulls": [end.to_json() for end in ends]})
    else:
        _tell(ends, places)
    for end in surprises:
        note(f"pull request {end.number} must end as {end.must}, but ended as {end.did}")
    return ExitCode.FINDINGS if surprises else ExitCode.OK


def _tell(ends: Sequence[DemoEnd], places: Mapping[str, str]) -> None:
    print_table(
        "Every pull request of the example",
        ("pull request", "kind", "must end", "ended", ""),
        [(f"#{e.number} {e.title}", e.kind, e.must, e.did, "ok" if e.as_expected else "WRONG") for e in ends],
    )
    for name, place in places.items():
        typer.echo(f"{name}: {place}")

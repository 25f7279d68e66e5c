"""`recheck`: whether the tasks of a release still do what they did."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines
from swequarry.cli.options import Json, Quiet, Set, Workspace_
from swequarry.cli.settings import resolve
from swequarry.cli.workspace import open_workspace
from swequarry.errors import ExitCode
from swequarry.export.releases.read import Dataset, read_dataset
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.recheck import Rechecked, RecheckOptions, Status, recheck, summary
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.workspace import Workspace

group = command_group()


@group.command(name="recheck")
def recheck_command(
    release: Annotated[Path, typer.Argument(help="A release, or an exported folder.")],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of what comes of it; a new one is a new check.")
    ] = Path("recheck"),
    rounds: Annotated[
        int, typer.Option(min=1, help="Runs with gold and runs with nothing, each; more where one is odd.")
    ] = 2,
    workers: Annotated[int, typer.Option("--workers", "-j", min=1, help="Tasks at a time.")] = 2,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="Settings as YAML; default: those of the newest run."),
    ] = None,
    set_: Set = None,
    workspace: Workspace_ = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run gold and nothing again over a release, say what changed and why, list what to deprecate.

    The same call again continues. With -c or --set a new workspace will do: worlds are made from the release
    and the mirrors. Exit code 1 if a task changed, 6 if the machinery broke for some and nothing is known.

    Example: `swequarry recheck out/tasks-1.0 -o out/recheck-2`
    """
    dataset = read_dataset(release)
    house = _house(config, set_ or [], workspace)
    house.backend.sweep()
    options = RecheckOptions(workers=workers, rounds=rounds)
    found = recheck(house, dataset, output, options, lambda one: None if quiet else note(_line(one)))
    if as_json:
        print_json({**summary(dataset, found), "output": str(output)})
    else:
        print_lines(_prose(dataset, found, output))
    return _exit_code(found)


def _house(config: Path | None, assignments: list[str], workspace: Path | None) -> House:
    if config is None and not assignments:
        return house_of_last_run(open_workspace(workspace))
    settings = resolve(config, assignments, {"workspace": str(workspace) if workspace else None})
    return House(settings, Workspace.open(settings))


def _line(one: Rechecked) -> str:
    why = f" ({one.reason.value})" if one.reason is not None else ""
    return f"{one.instance_id}: {one.status.value}{why}" + (f": {one.detail}" if one.detail else "")


def _prose(dataset: Dataset, found: Sequence[Rechecked], output: Path) -> Iterator[str]:
    counts = Counter(one.status for one in found)
    yield " ".join(filter(None, (dataset.name, dataset.version)))
    yield ", ".join(f"{counts[status]} {status.value}" for status in Status)
    yield from (_line(one) for one in found if one.status is not Status.UNCHANGED)
    if counts[Status.CHANGED]:
        yield f"leave them out with --deprecated {output / 'deprecated.json'}"
    if counts[Status.INFRA_FAILED]:
        yield "of those that failed nothing is known: the same command checks them again"


def _exit_code(found: Sequence[Rechecked]) -> ExitCode:
    statuses = {one.status for one in found}
    if Status.INFRA_FAILED in statuses:
        return ExitCode.PARTIAL
    if Status.CHANGED in statuses:
        return ExitCode.FINDINGS
    return ExitCode.OK if found else ExitCode.NOTHING_TO_DO

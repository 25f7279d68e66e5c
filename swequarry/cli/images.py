"""`images`: what the docker backend starts from, what is given to others, and which stored worlds may go."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines
from swequarry.cli.options import Json, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.config import SandboxSettings
from swequarry.errors import ExitCode, InputError, UsageError
from swequarry.pipeline.image_seal import require_sealed
from swequarry.pipeline.known_item import house_of_last_run, know_item
from swequarry.pipeline.prune import Pruned, named_worlds, prune_leaks, prune_worlds
from swequarry.pipeline.reasons import find_task
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.stages.environment import environment_world
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Task
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.docker_backend import DockerBackend
from swequarry.sandbox.image_names import image_name, remote_name
from swequarry.sandbox.images import make_base_image
from swequarry.sandbox.registry import push_image
from swequarry.sandbox.task_image import TaskImage, Wanted, build_task_image

group = command_group("Make, push and remove what sandboxes start from: images and stored worlds.")

Items = Annotated[list[str] | None, typer.Argument(help="Instance ids, or unique parts of them.")]
All = Annotated[bool, typer.Option("--all", help="Every task of the newest run.")]
Tag = Annotated[
    str,
    typer.Option(
        help="Template of the name: {instance_id}, {swebench_id}, {owner}, {name}, {number}, {environment}."
    ),
]
_DEFAULT_TAG = "swequarry/{instance_id}:latest"


@group.callback()
def _images() -> None:
    """Keep it a group of commands."""


@group.command()
def base(
    tag: Annotated[str, typer.Option(help="Name of the image.")] = "swequarry/base:local",
) -> int:
    """Make a base image from a Debian mirror and the interpreters of this machine; needs root.

    For machines that reach no registry. Use it with `--set sandbox.base_image=TAG`.
    """
    note("making a Debian root and copying interpreters; a minute or two")
    made = make_base_image(tag, progress=note)
    typer.echo(f"{tag}: Python {', '.join(python.version for python in made)}")
    note(f"use it: swequarry run CONFIG --set sandbox.backend=docker --set sandbox.base_image={tag}")
    return ExitCode.OK


@group.command()
def build(
    items: Items = None,
    *,
    all_: All = False,
    tag: Tag = _DEFAULT_TAG,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Build the final image of tasks: an environment image for each lock, one thin layer for each task.

    For tasks that were verified in docker: the image holds the very files of the verified world. An image
    that has the answer in a layer, its history, a variable or a label doesn't keep its name.

    Example: `swequarry images build --all --tag 'sweb.eval.x86_64.{swebench_id}:latest'`
    """
    house = house_of_last_run(open_workspace(workspace))
    built = []
    for task in _tasks(house, items or [], every=all_):
        image = _build(house, task, tag)
        built.append({"instance_id": task.instance_id, **asdict(image)})
        if not as_json:
            typer.echo(f"{image.tag}\t{image.image}")
            note(f"{image.layer_bytes / 1e6:.1f} MB on {image.environment_image}")
    if as_json:
        print_json(built)
    return ExitCode.OK if built else ExitCode.NOTHING_TO_DO


@group.command()
def push(
    items: Items = None,
    *,
    registry: Annotated[str, typer.Option(help="Where to: `HOST[:PORT][/PREFIX]`.")],
    all_: All = False,
    tag: Tag = _DEFAULT_TAG,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Push the images of tasks to a registry and print the digests under which others pull them.

    Builds what isn't built yet. Credentials are the engine's: `docker login`.

    Example: `swequarry images push --all --registry localhost:5000/tasks`
    """
    house = house_of_last_run(open_workspace(workspace))
    pushed = []
    for task in _tasks(house, items or [], every=all_):
        image = _build(house, task, tag)
        by_digest = push_image(_docker(house).engine, image.tag, remote_name(registry, image.tag))
        pushed.append({"instance_id": task.instance_id, "image": by_digest})
        if not as_json:
            typer.echo(by_digest)
    if as_json:
        print_json(pushed)
    return ExitCode.OK if pushed else ExitCode.NOTHING_TO_DO


@group.command()
def prune(
    *,
    workspaces: Annotated[
        list[Path] | None,
        typer.Option("--workspace", "-w", help="A workspace that uses this cache; repeatable."),
    ] = None,
    grace_hours: Annotated[float, typer.Option(min=0, help="Keep what is younger.")] = 24.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    as_json: Json = False,
) -> int:
    """Remove stored worlds, images and trees, that no result of the named workspaces needs; old indexes too.

    The cache is shared: name every workspace that uses it. What is removed by mistake is built again from
    its lock when it is needed. Images that `images build` made aren't touched: `docker image rm` them.
    """
    opened = [open_workspace(path) for path in workspaces] if workspaces else [open_workspace(None)]
    named, store = named_worlds(opened), _common_store(opened)
    done = [
        prune_worlds(
            open_backend(settings, store),
            store / settings.backend,
            named,
            grace_s=grace_hours * 3600,
            dry_run=dry_run,
        )
        for settings in _backends(store)
    ]
    done.append(prune_leaks(opened[0].leaks, done, grace_s=grace_hours * 3600, dry_run=dry_run))
    if as_json:
        print_json([asdict(one) for one in done])
    else:
        print_lines(_told(one, dry_run=dry_run) for one in done)
    return ExitCode.OK


def _common_store(opened: Sequence[Workspace]) -> Path:
    stores = {workspace.worlds for workspace in opened}
    if len(stores) > 1:
        raise UsageError(
            f"these workspaces use different caches ({', '.join(map(str, sorted(stores)))}): "
            "prune those of each cache by themselves"
        )
    return stores.pop()


def _told(one: Pruned, *, dry_run: bool) -> str:
    what = "indexes" if one.backend == "leaks" else "worlds"
    done = f"would remove {one.removed} {what}" if dry_run else f"removed {one.removed} {what}"
    if one.backend == "leaks":
        return f"{one.backend}: {done}; kept {one.young} used of late"
    swept = "" if dry_run else f", swept {one.swept} layers, trees and remains"
    return f"{one.backend}: {done}{swept}; kept {one.named} named, {one.young} young, {one.in_use} in use"


def _backends(store: Path) -> Iterator[SandboxSettings]:
    """Yield settings for each backend that has a store here."""
    if (store / "bubblewrap").is_dir():
        yield SandboxSettings(backend="bubblewrap")
    if (store / "docker").is_dir():
        yield SandboxSettings(backend="docker")


def _tasks(house: House, names: list[str], *, every: bool) -> tuple[Task, ...]:
    if every == bool(names):
        raise UsageError("name some tasks, or give --all")
    if every:
        return tasks_of(house.workspace, last_run(house.workspace).number)
    return tuple(find_task(house.workspace, name) for name in names)


def _docker(house: House) -> DockerBackend:
    if not isinstance(house.backend, DockerBackend):
        raise InputError(
            "the newest run verified its tasks in bubblewrap, so no image is known to work: "
            "run it again with --set sandbox.backend=docker"
        )
    return house.backend


def _build(house: House, task: Task, template: str) -> TaskImage:
    backend, known = _docker(house), know_item(house, task.instance_id)
    if known.snapshot is None:
        raise InputError(f"no snapshot of {task.instance_id} is in the ledger; run the same command again")
    world = environment_world(house, task.candidate, known.snapshot, task.environment)
    environment = task.environment
    wanted = Wanted(
        world=world.key,
        lock=environment.lock,
        python=environment.python_version,
        tag=image_name(template, task.candidate, environment.identity()),
    )
    image = build_task_image(backend, wanted)
    require_sealed(house, backend.engine, task, image.tag)
    return image

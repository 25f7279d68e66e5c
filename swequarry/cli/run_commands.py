"""Commands that run the line: run, reconstruct, retry."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json
from swequarry.cli.options import Json, Quiet, Set, Workspace_
from swequarry.cli.progress import watched
from swequarry.cli.settings import resolve
from swequarry.cli.waits import waits
from swequarry.config import Settings
from swequarry.errors import ConfigError, ExitCode
from swequarry.pipeline.publish import Published, publish
from swequarry.pipeline.run import RunSummary, run_settings
from swequarry.pipeline.workspace import Workspace

group = command_group()

_LINES_SHOWN = 10
Workers = Annotated[int | None, typer.Option("--workers", "-j", min=1, help="Worker processes.")]
Deep = Annotated[
    bool, typer.Option("--deep", help="Search for unstable tests without bound (stability.budget=deep).")
]


class Scope(StrEnum):
    """Which test files are run."""

    TOUCHED = "touched"
    RELATED = "related"
    FULL = "full"


Scope_ = Annotated[
    Scope | None,
    typer.Option(
        "--scope",
        help="Which tests to run: those of the pull request, also those that import or run what it changes, "
        "or all (verify.scope).",
    ),
]


@group.command()
def run(
    config: Annotated[Path, typer.Argument(help="Settings as YAML; see `configs/`.")],
    *,
    set_: Set = None,
    deep: Deep = False,
    scope: Scope_ = None,
    workspace: Workspace_ = None,
    workers: Workers = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Mine, reconstruct and verify; the same command again continues.

    Example: `swequarry run configs/rows.yaml --set source.rows=rows.jsonl -j 4`
    """
    options = {"workspace": _text(workspace), "workers": workers, **_tests(deep, scope)}
    settings = resolve(config, set_ or [], options)
    return run_and_publish(settings, as_json=as_json, quiet=quiet)


@group.command()
def reconstruct(
    repo: Annotated[str, typer.Argument(help="`owner/name`, or the path of a clone.")],
    *,
    pull: Annotated[
        list[int] | None, typer.Option("--pull", help="Only this pull request; repeatable.")
    ] = None,
    mirror: Annotated[str | None, typer.Option(help="Path template, `DIR/{owner}+{name}`.")] = None,
    issues: Annotated[Path | None, typer.Option(help="Issues as JSON lines.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the newest pull requests.")] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Settings as YAML.")] = None,
    set_: Set = None,
    deep: Deep = False,
    scope: Scope_ = None,
    workspace: Workspace_ = None,
    workers: Workers = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Take one repository, or one pull request of it, all the way to tasks.

    Example: `swequarry reconstruct jd/tenacity --pull 200`
    """
    name, template = _repository(repo, mirror)
    options: dict[str, object] = {
        "source.kind": "git",
        "source.repositories": [name],
        "source.mirror": template,
        "source.pulls": list(pull) if pull else None,
        "source.issues": _text(issues),
        "source.limit": limit,
        "workspace": _text(workspace),
        "workers": workers,
        **_tests(deep, scope),
    }
    settings = resolve(config, set_ or [], options)
    return run_and_publish(settings, as_json=as_json, quiet=quiet)


def _tests(deep: bool, scope: Scope | None) -> dict[str, object]:  # noqa: FBT001 (an option)
    """Return the settings that the options about tests stand for."""
    return {
        "stability.budget": "deep" if deep else None,
        "verify.scope": scope.value if scope is not None else None,
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _repository(repo: str, mirror: str | None) -> tuple[str, str | None]:
    """Return `owner/name` and the path template of what the user named."""
    path = Path(repo).expanduser()
    if not path.is_dir():
        if repo.count("/") != 1:
            raise ConfigError(f"{repo!r} is neither `owner/name` nor a folder with a clone")
        return repo, mirror
    folder = path.resolve()
    owner, plus, name = folder.name.removesuffix(".git").partition("+")
    full_name = f"{owner}/{name}" if plus else f"local/{owner}"
    return full_name, str(folder).replace("{", "{{").replace("}", "}}")


def run_and_publish(settings: Settings, *, as_json: bool = False, quiet: bool = False) -> int:
    """Run the line, write dataset and report, print where they are, and return the exit code."""
    with watched(quiet=quiet, waits=waits(settings)) as watch:
        summary = run_settings(settings, watch)
    published = publish(Workspace.open(settings), summary.run)
    told = {
        "run": summary.run,
        "candidates": len(summary.selected),
        "accepted": published.accepted,
        "rejected": published.rejected,
        "failed": published.failed,
        "not_tried": published.not_tried,
        "unfinished": published.unfinished,
        "remarks": list(summary.remarks),
        "failures": list(published.failures),
        "dataset_sha256": published.dataset_sha256,
        "dataset": str(published.dataset),
        "report": str(published.report),
    }
    if as_json:
        print_json(told)
    else:
        _tell(told, summary, published)
    return exit_code(summary, failed=published.failed)


def _tell_some(kind: str, lines: Sequence[str]) -> None:
    for line in lines[:_LINES_SHOWN]:
        note(f"{kind}: {line}")
    if len(lines) > _LINES_SHOWN:
        note(f"{kind}: {len(lines) - _LINES_SHOWN} more in the logs and in --json")


def _tell(told: dict[str, object], summary: RunSummary, published: Published) -> None:
    note(
        f"{told['candidates']} candidates = {told['accepted']} accepted + {told['rejected']} rejected"
        f" + {told['failed']} failed" + (f" + {told['unfinished']} unfinished" if told["unfinished"] else "")
    )
    if published.not_tried:
        note(f"{published.not_tried} of the rejected weren't tried: policy.stop_after_failures")
    _tell_some("input", summary.remarks)
    _tell_some("failed", published.failures)
    if summary.halted:
        note(f"stopped early: {summary.halted}")
    if summary.interrupted:
        note("interrupted; the same command continues where it stopped")
    for name in ("dataset", "report"):
        typer.echo(f"{name}: {told[name]}")
    typer.echo(f"dataset sha256: {told['dataset_sha256']}")
    note("why isn't one in it? `swequarry rejects`, then `swequarry why ITEM`")


def exit_code(summary: RunSummary, *, failed: int) -> int:
    """Return the documented exit code of a run."""
    if summary.interrupted:
        return ExitCode.INTERRUPTED
    if summary.halted or failed:
        return ExitCode.PARTIAL
    return ExitCode.OK if summary.selected else ExitCode.NOTHING_TO_DO

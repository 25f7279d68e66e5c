"""`mine`: candidates alone, or what they would cost."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from miner.mine import mine_units
from miner.plan import Plan, plan_unit
from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_table
from swequarry.cli.options import Json, Quiet, Set, Workspace_
from swequarry.cli.progress import watched
from swequarry.cli.settings import resolve
from swequarry.cli.waits import waits
from swequarry.config import Settings
from swequarry.errors import ExitCode
from swequarry.git.mirrors import MirrorLocator
from swequarry.outcome import Accepted, Failed, Rejected
from swequarry.pipeline.run import mine_settings
from swequarry.pipeline.workspace import default_cache

group = command_group()
_POINTS_AN_HOUR = 5000
_COLUMNS = ("repository", "merged", "chosen", "passing", "remembered", "silent", "requests", "points")


@group.command()
def mine(
    config: Annotated[Path, typer.Argument(help="Settings as YAML; see `configs/`.")],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be asked and what it would cost.")
    ] = False,
    set_: Set = None,
    workspace: Workspace_ = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Mine candidates and stop there; `run` goes on from them.

    Example: `swequarry mine configs/github.yaml --dry-run`
    """
    settings = resolve(config, set_ or [], {"workspace": str(workspace) if workspace else None})
    if dry_run:
        return _plan(settings, as_json=as_json)
    with watched(quiet=quiet, waits=waits(settings)) as watch:
        outcomes = mine_settings(settings, watch)
    counts: Counter[str] = Counter()
    for one in outcomes:
        match one.outcome:
            case Accepted():
                counts["candidates"] += 1
            case Rejected(code=code):
                counts[f"rejected: {code.value}"] += 1
            case Failed(boundary=boundary):
                counts[f"failed: {boundary.value}"] += 1
    if as_json:
        print_json(dict(counts))
    else:
        print_table("mined", ("ended", "pull requests"), sorted(counts.items()))
    if any(isinstance(one.outcome, Failed) for one in outcomes):
        return ExitCode.PARTIAL
    return ExitCode.OK if counts["candidates"] else ExitCode.NOTHING_TO_DO


def _plan(settings: Settings, *, as_json: bool) -> int:
    """Print what would be asked; nothing is asked and nothing is cloned."""
    source = settings.source
    cache = (settings.cache or default_cache()).absolute()
    locator = MirrorLocator(template=source.mirror, url=source.url, cache=cache / "mirrors")
    plans = [plan_unit(unit, settings, locator) for unit in mine_units(settings)]
    if as_json:
        print_json([asdict(plan) for plan in plans])
    else:
        print_table("what would be asked", _COLUMNS, [_row(plan) for plan in plans])
        _sum_up(plans, asks=source.kind == "github")
    return ExitCode.OK if plans else ExitCode.NOTHING_TO_DO


def _row(plan: Plan) -> tuple[object, ...]:
    if plan.merged is None:
        return (plan.repo, "not cloned", *("?" for _ in _COLUMNS[2:]))
    return (
        plan.repo,
        plan.merged,
        plan.chosen,
        plan.passing,
        plan.remembered,
        plan.silent,
        plan.requests,
        plan.points,
    )


def _sum_up(plans: list[Plan], *, asks: bool) -> None:
    unknown = sum(plan.merged is None for plan in plans)
    if unknown:
        note(f"{unknown} repositories aren't cloned yet; what they need can be counted afterwards")
    if not asks:
        note("this source asks no API")
        return
    requests, spent = sum(plan.requests for plan in plans), sum(plan.points for plan in plans)
    merged = sum(plan.merged or 0 for plan in plans)
    share = f", {requests / merged:.3f} a merged pull request" if merged else ""
    hours = spent / _POINTS_AN_HOUR
    note(f"at least {requests} requests{share}; long lists of comments cost more")
    note(f"{spent} points of GraphQL: {hours:.2f} hours of one token's limit, {_POINTS_AN_HOUR} an hour")

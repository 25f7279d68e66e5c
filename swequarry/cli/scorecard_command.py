"""`scorecard`: what the runs showed of each repository."""

from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines, print_table
from swequarry.cli.options import Json, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.config import parse_settings
from swequarry.errors import ExitCode
from swequarry.pipeline.reporting import last_run
from swequarry.pipeline.scorecards import run_scorecards
from swequarry.report.scorecard import SCORECARD_SCHEMA, Scorecard, Share

group = command_group()
_COLUMNS = (
    *("repository", "candidates", "accepted", "rejected", "failed", "not tried", "builds", "pass at base"),
    *("coverage", "flakes", "min per run", "min per task", "most rejected for"),
)


@group.command()
def scorecard(*, workspace: Workspace_ = None, as_json: Json = False) -> int:
    """Show what the newest run measured of each repository: builds, tests, coverage, flakes, minutes."""
    opened = open_workspace(workspace)
    run = last_run(opened)
    cards = run_scorecards(opened, run)
    limit = parse_settings(dict(run.settings)).policy.stop_after_failures
    if as_json:
        print_json(
            {
                "schema_version": SCORECARD_SCHEMA,
                "run": run.number,
                "stop_after_failures": limit,
                "repositories": [card.to_json() for card in cards],
            }
        )
        return ExitCode.OK if cards else ExitCode.NOTHING_TO_DO
    print_table("Scorecards", _COLUMNS, [_row(card) for card in cards])
    print_lines([f"policy.stop_after_failures: {'none' if limit is None else limit}"])
    return ExitCode.OK if cards else ExitCode.NOTHING_TO_DO


def _row(card: Scorecard) -> tuple[object, ...]:
    ends = (card.ends[end] for end in ("accepted", "rejected", "failed", "not_tried"))
    shares = (card.builds, card.base_tests, card.coverage, card.flakes)
    cause = next(iter(card.causes.items()), None)
    return (
        card.repo,
        card.candidates,
        *ends,
        *map(_share, shares),
        _number(card.run_minutes_median),
        _number(card.minutes_per_task),
        f"{cause[0]} ({cause[1]})" if cause else "",
    )


def _share(one: Share) -> str:
    return "-" if one.share is None else f"{one.share:.0%} of {one.whole}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

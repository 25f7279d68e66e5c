"""`review`: what the tests can't see in a patch, a range of commits, a task, or a trajectory."""

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from patchreview.interface import NO_GROUND, Ground
from patchreview.measured import Calibration, calibration_of, measures, read_calibration
from patchreview.output.sarif import sarif
from patchreview.output.words import lines, markdown
from patchreview.ranges import review_range
from patchreview.reviewer import Review, review_patch
from patchreview.task.review import TaskReview, review_task
from patchreview.task.subject import Subject
from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Workspace_
from swequarry.errors import ExitCode, InputError, RepositoryError, UsageError
from swequarry.git.repository import Repository

group = command_group()


class Format(StrEnum):
    """How a review is printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    MARKDOWN = "markdown"


@group.command()
def review(
    *,
    patch: Annotated[Path | None, typer.Option(help="A patch; `-` reads standard input.")] = None,
    task: Annotated[
        str | None,
        typer.Option(help="What --patch is for; alone: the task to review. A unique part of its id will do."),
    ] = None,
    diff: Annotated[
        str | None, typer.Option(help="Two commits, `A..B`; `A...B` is what B changed since it left A.")
    ] = None,
    pr: Annotated[
        str | None,
        typer.Option(help="A pull request, `owner/name#N`, from refs that a clone or mirror has; no API."),
    ] = None,
    trajectory: Annotated[
        Path | None,
        typer.Option(
            help="A trajectory (mini-swe-agent, SWE-agent, OpenHands, ATIF), or a folder with any number."
        ),
    ] = None,
    repository: Annotated[
        Path | None,
        typer.Option("--repository", "-C", help="The git repository of --diff or --pr; else this folder's."),
    ] = None,
    lint: Annotated[
        bool, typer.Option(help="With --diff and --pr: also what ruff, bandit and mypy newly say.")
    ] = True,
    calibration: Annotated[
        Path | None,
        typer.Option(help="A file of `swequarry calibrate`; else that of the workspace, if one is named."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How the review is printed.")] = Format.TEXT,
    workspace: Workspace_ = None,
) -> int:
    """Review a patch, commits, a pull request, a task or trajectories; exit code 1 if one is blocked.

    Example: `swequarry review --diff origin/main...HEAD --format sarif`
    """
    _only_one(diff=diff, pr=pr, patch=patch, trajectory=trajectory, task=task)
    known = _calibration(calibration, workspace)
    if diff is not None:
        found = review_range(Repository.open(repository or Path()), diff, lint=lint, calibration=known)
        return _print(found, format_)
    if pr is not None:
        return _print(_pull(pr, repository, workspace, known, lint=lint), format_)
    if trajectory is not None:
        ground = NO_GROUND if task is None else _ground(_subject(workspace, task))
        return _print_set(trajectory, ground, format_, known)
    if patch is None:
        return _print_task(review_task(_subject(workspace, str(task))), format_)
    ground = NO_GROUND if task is None else _ground(_subject(workspace, task))
    return _print(review_patch(_read(patch), ground, calibration=known), format_)


def _only_one(*, task: str | None, **given: object) -> None:
    """Refuse what leaves open what to review; a task goes with a patch or a trajectory, or alone."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1 or not (named or task) or (task and named and named[0] in {"diff", "pr"}):
        raise UsageError(
            "say one of `swequarry review --diff A..B`, `--pr owner/name#N`, `--patch FILE`, "
            "`--trajectory FILE|FOLDER`, the last two with `--task ID` if they're for a task, or `--task ID`"
        )


def _calibration(named: Path | None, workspace: Path | None) -> Calibration:
    if named is not None:
        return read_calibration(named)
    return measures() if workspace is None else calibration_of(workspace)


def _pull(
    name: str, repository: Path | None, workspace: Path | None, known: Calibration, *, lint: bool
) -> Review:
    """Return the review of a pull request, looked for where the user says, here, and in the run's mirrors."""
    from patchreview.pulls import parse_pull, review_pull  # noqa: PLC0415 - seldom asked for

    pull = parse_pull(name)
    if repository is not None:
        return review_pull(Repository.open(repository), pull, known, lint=lint)
    from swequarry.cli.workspace import open_workspace  # noqa: PLC0415 - as in `_subject`
    from swequarry.pipeline.known_item import house_of_last_run  # noqa: PLC0415 - as above

    try:
        found = house_of_last_run(open_workspace(workspace)).repository(pull.repo)
    except (InputError, RepositoryError):
        found = Repository.open(Path())
    return review_pull(found, pull, known, lint=lint)


def _print_set(path: Path, ground: Ground, format_: Format, known: Calibration) -> int:
    """Review and print the trajectories of a file or folder."""
    from patchreview.output.episodes import set_lines, set_markdown  # noqa: PLC0415 - seldom asked for
    from patchreview.trajectory.episodes import review_path  # noqa: PLC0415 - as above

    found = review_path(path, ground, known)
    match format_:
        case Format.JSON:
            print_json(found.to_json())
        case Format.SARIF:
            print_json(sarif([one for episode in found.episodes for one in episode.as_findings()]))
        case Format.MARKDOWN:
            print_lines(set_markdown(found))
        case Format.TEXT:
            print_lines(set_lines(found))
    return ExitCode.FINDINGS if found.blocked else ExitCode.OK


def _read(path: Path) -> bytes:
    if path == Path("-"):
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}; name a file with a patch") from error


def _subject(workspace: Path | None, name: str) -> Subject:
    """Return a task of the newest run as a reviewer sees it."""
    from swequarry.cli.workspace import open_workspace  # noqa: PLC0415 - a range needs no ledger
    from swequarry.pipeline.reasons import find_task  # noqa: PLC0415 - as above
    from swequarry.pipeline.reviewing import subject_of  # noqa: PLC0415 - as above

    opened = open_workspace(workspace)
    return subject_of(find_task(opened, name), opened.blobs.get)


def _ground(subject: Subject) -> Ground:
    return Ground(gold=subject.gold, tests=subject.tests, statement=subject.statement)


def _print(found: Review, format_: Format) -> int:
    match format_:
        case Format.JSON:
            print_json(found.to_json())
        case Format.SARIF:
            print_json(sarif(found.findings))
        case Format.MARKDOWN:
            print_lines(markdown(found))
        case Format.TEXT:
            print_lines(lines(found))
    return ExitCode.FINDINGS if found.blocked else ExitCode.OK


def _print_task(found: TaskReview, format_: Format) -> int:
    review_ = Review(findings=found.findings)
    match format_:
        case Format.JSON:
            print_json(found.to_json())
        case Format.SARIF:
            print_json(sarif(found.findings))
        case Format.MARKDOWN:
            print_lines([*_axes(found), "", *markdown(review_)])
        case Format.TEXT:
            print_lines([*_axes(found), *lines(review_)])
    return ExitCode.FINDINGS if review_.blocked else ExitCode.OK


def _axes(found: TaskReview) -> Iterable[str]:
    return (f"{axis.value}: {score:.2f}" for axis, score in found.scores.items())

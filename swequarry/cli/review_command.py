"""`review`: what the tests can't see in a patch, a range of commits, or a task."""

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from patchreview.interface import NO_GROUND, Ground
from patchreview.output.sarif import sarif
from patchreview.output.words import lines, markdown
from patchreview.ranges import review_range
from patchreview.reviewer import Review, review_patch
from patchreview.task.review import TaskReview, review_task
from patchreview.task.subject import Subject
from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Workspace_
from swequarry.errors import ExitCode, InputError, UsageError
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
    repository: Annotated[
        Path, typer.Option("--repository", "-C", help="The git repository of --diff.")
    ] = Path(),
    format_: Annotated[Format, typer.Option("--format", help="How the review is printed.")] = Format.TEXT,
    workspace: Workspace_ = None,
) -> int:
    """Review a patch, a range of commits or a task by rules; exit code 1 if a finding blocks it.

    Example: `swequarry review --diff origin/main...HEAD --format sarif`
    """
    if (diff is None) == (patch is None and task is None):
        raise UsageError(
            "say `swequarry review --diff A..B`, `--patch FILE`, `--patch FILE --task ID`, or `--task ID`"
        )
    if diff is not None:
        return _print(review_range(Repository.open(repository), diff), format_)
    if patch is None:
        return _print_task(review_task(_subject(workspace, str(task))), format_)
    ground = NO_GROUND if task is None else _ground(_subject(workspace, task))
    return _print(review_patch(_read(patch), ground), format_)


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

"""`grade`: patches against the tasks of the newest run."""

import asyncio
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines, print_table
from swequarry.cli.options import Json, Quiet, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.errors import ExitCode, InputError, UsageError
from swequarry.pipeline.grade_reports import as_json as verdict_json
from swequarry.pipeline.graded_set import GradedSet, grade_predictions
from swequarry.pipeline.grader import Graded, Grader
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.predictions import read_predictions
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.stages.house import House
from swequarry.report.reviewed import review_lines, say_review
from swequarry.verify.grade import Verdict

group = command_group()


@group.command()
def grade(
    task: Annotated[
        str | None, typer.Argument(help="With --patch: a task; a unique part of its id will do.")
    ] = None,
    *,
    patch: Annotated[
        Path | None, typer.Option(help="A patch for the task; `-` reads standard input.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Predictions in SWE-bench's format, .json or .jsonl.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the reports of --predictions.")
    ] = Path("grades"),
    workers: Annotated[int, typer.Option("--workers", "-j", min=1, help="Gradings at a time.")] = 2,
    workspace: Workspace_ = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Grade a patch for a task, or a file of predictions; the same call again continues.

    Exit code 0 if the patch resolves the task and the review doesn't block it (a file: all were graded), 1 if
    not, 6 if the machinery broke, which is no verdict.

    Example: `swequarry grade tenacity-656 --patch fix.diff`
    """
    if (patch is None) == (predictions is None) or (patch is None) != (task is None):
        raise UsageError("say `swequarry grade TASK --patch FILE`, or `swequarry grade --predictions FILE`")
    house = house_of_last_run(open_workspace(workspace))
    if predictions is not None:
        return _many(house, predictions, output, workers=workers, as_json=as_json, quiet=quiet)
    found = asyncio.run(_one(house, str(task), _read(patch)))
    if as_json:
        print_json(verdict_json(found))
    else:
        print_lines(_prose(found))
    match found.verdict:
        case Verdict.RESOLVED:
            return ExitCode.OK if found.accepted else ExitCode.FINDINGS
        case Verdict.INFRA_FAILED:
            return ExitCode.PARTIAL
        case _:
            return ExitCode.FINDINGS


async def _one(house: House, task: str, patch: bytes) -> Graded:
    async with Grader(house, workers=1) as grader:
        return await grader.grade(task, patch)


def _read(path: Path | None) -> bytes:
    if path is None or path == Path("-"):
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}; name a file with a patch") from error


def _many(house: House, path: Path, output: Path, *, workers: int, as_json: bool, quiet: bool) -> int:
    predictions = read_predictions(path)
    tasks = {one.instance_id: one for one in tasks_of(house.workspace, last_run(house.workspace).number)}

    async def work() -> GradedSet:
        async with Grader(house, workers=workers) as grader:
            return await grade_predictions(
                grader,
                tasks,
                predictions,
                output,
                lambda p, g: None if quiet else note(f"{p.instance_id} of {p.model}: {_short(g)}"),
            )

    done = asyncio.run(work())
    counts = Counter(graded.verdict for _, graded in done.found)
    if as_json:
        print_json(
            {
                "verdicts": {verdict.value: counts[verdict] for verdict in Verdict},
                "accepted": sum(graded.accepted for _, graded in done.found),
                "tasks": [asdict(one) for one in done.standings],
                "output": str(output),
            }
        )
    else:
        print_table(
            "Tasks",
            ("task", "graded", "resolved", "accepted", "tampered", "pass rate", "pool"),
            [
                (
                    s.instance_id,
                    s.graded,
                    s.resolved,
                    s.accepted,
                    s.tampered,
                    f"{s.pass_rate:.2f}",
                    s.pool.value,
                )
                for s in done.standings
            ],
        )
        print_lines([", ".join(f"{counts[v]} {v.value}" for v in Verdict), f"reports: {output}"])
    return ExitCode.PARTIAL if counts[Verdict.INFRA_FAILED] else ExitCode.OK


def _short(found: Graded) -> str:
    return found.verdict.value + (f" ({found.reason.value}: {found.message})" if found.message else "")


def _prose(found: Graded) -> list[str]:
    return [
        f"{found.instance_id}: {_short(found)}",
        f"FAIL_TO_PASS: {found.passed_fail_to_pass} of {found.fail_to_pass} pass",
        f"PASS_TO_PASS: {found.passed_pass_to_pass} of {found.pass_to_pass} pass",
        *(f"  {test}: {outcome.value}" for test, outcome in found.failed),
        *(f"evidence: {line}" for line in found.evidence),
        *(f"note: {line}" for line in found.notes),
        f"review: {say_review(found.review)}",
        *review_lines(found.review),
        f"accepted: {'yes' if found.accepted else 'no'}",
    ]

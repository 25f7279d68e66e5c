"""`label` and `calibrate`: what people say of patches and tasks, and what follows for the review's rules."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from patchreview.calibration import Labelled, calibration_page
from patchreview.calibration import calibrate as measure
from patchreview.labelled import Row, gold_of, patches_of, read_json_lines
from patchreview.measured import CALIBRATION, measures, write_calibration
from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Item, Json, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.errors import ExitCode, UsageError
from swequarry.ledger.labels import LabelVerdict
from swequarry.pipeline import labels
from swequarry.pipeline.workspace import Workspace
from swequarry.write_whole import write_whole

group = command_group()


@group.command()
def label(
    item: Item,
    *,
    verdict: Annotated[
        LabelVerdict,
        typer.Option(help="honest or cheat: of the patch of --patch; sound or flawed: of the task."),
    ],
    patch: Annotated[Path | None, typer.Option(help="The patch that the verdict is about.")] = None,
    rule: Annotated[str, typer.Option(help="The only rule that the verdict is about.")] = "",
    note: Annotated[str, typer.Option(help="Why; for whoever reads it later.")] = "",
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Say what you think of a task or of a patch for it; the next `calibrate` counts it.

    Example: `swequarry label tenacity-656 --patch fix.diff --verdict honest --rule test-deleted`
    """
    data = None if patch is None else labels.read_patch(patch)
    kept = labels.label(open_workspace(workspace), item, verdict, patch=data, rule=rule, note=note)
    if as_json:
        said = {"item": kept.item, "verdict": kept.verdict.value, "patch_sha256": kept.patch}
        print_json({**said, "rule": kept.rule or None, "note": kept.note})
    else:
        about = "a patch for " if kept.patch else ""
        print_lines([f"{about}{kept.item}: {kept.verdict.value}; `swequarry calibrate` counts it"])
    return ExitCode.OK


@group.command()
def calibrate(
    *,
    rows: Annotated[
        list[Path] | None,
        typer.Option(help="Rows as JSON lines; their gold patches are honest. May be said again."),
    ] = None,
    cheats: Annotated[
        Path | None, typer.Option(help="Cheats as JSON lines with instance_id and patch.")
    ] = None,
    honest: Annotated[
        Path | None, typer.Option(help="Honest patches as JSON lines with instance_id and patch.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Leave out what was measured before release.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; else the workspace's own.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Also write a page with the table.")] = None,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Measure how often each rule of the review is right, and demote those that are wrong too often.

    Counted are the workspace's gold patches and labels, and the given files, on top of what ships. `grade`
    and `review` read the file that this writes in the same workspace. Exit code 1 if a rule is demoted.
    """
    opened = None if (rows or cheats or honest) and workspace is None else open_workspace(workspace)
    if opened is None and output is None:
        raise UsageError("say where to write it: `--output FILE`, or a workspace with -w")
    known = [row for path in rows or () for row in read_json_lines(path, *_ROW)]
    found, sets = measure(_labelled(opened, known, cheats, honest), None if alone else measures())
    place = output or (opened.root / CALIBRATION if opened else Path(CALIBRATION))
    write_calibration(place, found)
    if page is not None:
        write_whole(page, ("\n".join(calibration_page(found, sets)) + "\n").encode())
    demoted = sorted(code for code, one in found.items() if not one.may_block)
    if as_json:
        counts = [
            {"set": s.source, "honest": s.honest, "patches": s.patches, "blocked": s.blocked} for s in sets
        ]
        print_json({"sets": counts, "demoted": demoted, "output": str(place)})
    else:
        print_lines(
            [
                *calibration_page(found, sets),
                "",
                f"demoted: {', '.join(demoted) or 'none'}",
                f"written: {place}",
            ]
        )
    return ExitCode.FINDINGS if demoted else ExitCode.OK


_ROW = ("instance_id", "patch", "test_patch", "problem_statement")


def _labelled(
    opened: Workspace | None, rows: list[Row], cheats: Path | None, honest: Path | None
) -> Iterator[Labelled]:
    if opened is not None:
        yield from labels.gold_of_run(opened)
        yield from labels.labelled_patches(opened)
    yield from gold_of(rows, "gold patches of rows")
    if cheats is not None:
        lines = read_json_lines(cheats, "instance_id", "patch")
        yield from patches_of(lines, "patch", rows, cheats.name, honest=False)
    if honest is not None:
        lines = read_json_lines(honest, "instance_id", "patch")
        yield from patches_of(lines, "patch", rows, honest.name, honest=True)

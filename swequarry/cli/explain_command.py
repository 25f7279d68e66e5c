"""`explain-env`: how an item's environment came about, or why there is none."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from reconstruct.environment.overrides import EVIDENCE_KEY
from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Item, Json, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.errors import ExitCode
from swequarry.pipeline.environment_report import (
    Asked,
    EnvironmentReport,
    Plan,
    TriedRecipe,
    report_environment,
)
from swequarry.pipeline.known_item import house_of_last_run, know_item

group = command_group()

_EVIDENCE_SHOWN = 40
_LINES_SHOWN = 6


@group.command()
def explain_env(
    item: Item,
    *,
    all_: Annotated[bool, typer.Option("--all", help="Every line of the evidence.")] = False,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Explain an item's environment: evidence, plan, every try, lock, what was lost.

    Works for tasks and for pull requests whose environment was rejected or failed.

    Example: `swequarry explain-env tenacity-647`
    """
    house = house_of_last_run(open_workspace(workspace))
    report = report_environment(house, know_item(house, item))
    enter = _enter(report, workspace)
    if as_json:
        print_json({**report.to_json(), "enter": enter})
    else:
        print_lines(_prose(report, enter, everything=all_))
    return ExitCode.OK


def _enter(report: EnvironmentReport, workspace: Path | None) -> str | None:
    """Return the command that enters the world by hand, where there is one."""
    if report.identity is None:
        return None
    place = () if workspace is None else ("-w", str(workspace))
    return shlex.join(("swequarry", "shell", report.item, *place))


def _prose(report: EnvironmentReport, enter: str | None, *, everything: bool) -> Iterator[str]:
    yield f"{report.item}: environment {report.verdict}"
    yield f"  {report.repo} at {report.base_commit}"
    if report.identity is not None:
        yield f"  Python {report.python_version} in {report.backend}, identity {report.identity}"
    yield from _evidence(report, everything=everything)
    if report.plan is not None:
        yield from _plan(report.plan, found=report.identity is not None)
    yield f"tries ({len(report.tries)}):"
    for one in report.tries:
        yield from _try(one)
    if report.lock is not None:
        yield f"lock: {len(report.packages)} packages, blob {report.lock}"
        yield from (f"  {name}=={version}" for name, version in report.packages)
    yield from _listed("lost of the optional tier", (f"{name}: {why}" for name, why in report.lost))
    yield from _listed("notes of the index", report.notes)
    yield from _listed("steps", (f"{name}: {spent:.1f} s" for name, spent in report.durations_s.items()))
    yield f"enter it: {enter}" if enter else "there is no world to enter; `environment.overrides` can help it"


def _listed(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = [f"  {line}" for line in lines]
    yield from (f"{title}:", *found) if found else (f"{title}: none",)


def _evidence(report: EnvironmentReport, *, everything: bool) -> Iterator[str]:
    yield f"evidence ({len(report.evidence)}):"
    shown = report.evidence if everything else report.evidence[:_EVIDENCE_SHOWN]
    for entry in shown:
        line = f":{entry.line}" if entry.line else ""
        held = "; no rule loosens it" if entry.key == EVIDENCE_KEY else ""
        yield f"  {entry.key} = {entry.value}  [{entry.path}{line}]{held}"
    if len(shown) < len(report.evidence):
        yield f"  and {len(report.evidence) - len(shown)} more; see them with --all"


def _plan(plan: Plan, *, found: bool) -> Iterator[str]:
    yield "recipe that works:" if found else "first recipe of the plan:"
    yield f"  Python {plan.python}: {plan.why_python}"
    yield f"  packages as of {plan.cutoff:%Y-%m-%d %H:%M} UTC: {plan.why_cutoff}"
    yield f"  project: installed as `{plan.install}`, its releases denied: {plan.denied or 'it has no name'}"
    for title, asked in (
        ("extra", plan.extras),
        ("requirement", plan.requirements),
        ("optional", plan.optional),
        ("constraint", plan.constraints),
    ):
        yield from (_asked(title, one) for one in asked)
    window = f"{plan.build_window:%Y-%m-%d}" if plan.build_window else "the cut-off"
    isolation = "in isolation" if plan.build_isolation else "without isolation"
    yield f"  built {isolation}, back-ends as of {window}: {_joined(plan.build_constraints)}"
    if plan.build_requirements:
        yield f"  build requirements: {_joined(plan.build_requirements)}"
    yield from (f"  exempt: {name} as of {day:%Y-%m-%d}" for name, day in plan.exempt)
    yield from (f"  local package: {folder}" for folder in plan.local_packages)
    yield from (f"  variable: {name}={value}" for name, value in plan.variables)
    yield f"  tests: {plan.test_framework}, `{shlex.join(plan.test_command)}`"


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(texts) or "no bound"


def _asked(title: str, asked: Asked) -> str:
    first, *rest = asked.origins or ("no line names it",)
    return f"  {title} {asked.text}  [{first}{f' and {len(rest)} more' if rest else ''}]"


def _try(one: TriedRecipe) -> Iterator[str]:
    python = f", Python {one.python}" if one.python else ""
    yield f"  {one.number}. {one.rule}{python}: {one.result}"
    yield from (f"     changed {change}" for change in one.changes)
    yield from (f"     | {line}" for line in one.decisive_lines[:_LINES_SHOWN])

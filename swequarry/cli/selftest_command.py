"""`selftest`: known attacks and honest solutions against the grader, on a task of the newest run."""

import difflib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines, print_table
from swequarry.cli.options import Json, Quiet, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.errors import ExitCode, InputError, UsageError
from swequarry.pipeline.graded_task import OpenTask, open_task
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.reasons import say_checks
from swequarry.pipeline.selftest import SUITE, Solver, SolverResult, SolverVerdict, self_test
from swequarry.pipeline.workspace import LEDGER_NAME

group = command_group()

_HOW_SHOWN = 150
_USUAL = (Path("quarry"), Path("demo-quarry"))


@group.command()
def selftest(
    item: Annotated[
        str | None, typer.Argument(help="A task; a unique part of its id will do. Default: the first one.")
    ] = None,
    *,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="Only solvers with this in their name, or with this code (`R9`); may be repeated."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", "-j", min=1, help="Gradings at a time.")] = 2,
    workspace: Workspace_ = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Let known attacks and honest solutions loose on a task, to see that grading tells them apart.

    Exit code 1 if an attack is accepted or an honest solution isn't, 6 if only the machinery broke.

    Example: `swequarry selftest tenacity-656 --attack conftest`
    """
    solvers = choose(attack or ())
    house = house_of_last_run(open_workspace(workspace or usual_workspace()))
    began = time.monotonic()
    opened = open_task(house, item)
    if not quiet:
        note(f"{opened.task.instance_id}: {len(solvers)} solvers, {workers} at a time")
    results = self_test(opened, solvers, workers=workers, tell=lambda found: _tell(found, quiet=quiet))
    told = _summary(opened, results, time.monotonic() - began)
    if as_json:
        print_json({**told, "solvers": [_as_json(found) for found in results]})
    else:
        print_table(
            f"Solvers of {opened.task.instance_id}",
            ("solver", "way", "verdict", "how it was found"),
            [(f.name, f.way or "honest", verdict_text(f), f.how[:_HOW_SHOWN]) for f in results],
        )
        print_lines(_prose(told))
    return exit_code(results)


def usual_workspace() -> Path:
    """Return the workspace in the current folder: that of a run, else the demo's.

    Raises:
        InputError: there is neither.
    """
    found = next((path for path in _USUAL if (path / LEDGER_NAME).is_file()), None)
    if found is None:
        raise InputError(
            "there is no workspace here; `swequarry demo` makes one to try this on, "
            "or name one with --workspace"
        )
    return found


def choose(wanted: Sequence[str]) -> tuple[Solver, ...]:
    """Return the solvers that some parts of names or codes mean; all for none. The gold patch always is one.

    Raises:
        UsageError: one means nothing.
    """
    chosen = {SUITE[0].attack.name} if wanted else {solver.attack.name for solver in SUITE}
    for word in wanted:
        named = {s.attack.name for s in SUITE if word == s.attack.code or word.lower() in s.attack.name}
        if not named:
            alike = difflib.get_close_matches(word, [s.attack.name for s in SUITE], n=1, cutoff=0.3)
            hint = f"did you mean {alike[0]!r}?" if alike else "without --attack all are tried, and listed"
            raise UsageError(f"--attack {word!r} is part of no solver's name, and no code; {hint}")
        chosen |= named
    return tuple(solver for solver in SUITE if solver.attack.name in chosen)


def verdict_text(found: SolverResult) -> str:
    """Return the verdict as the table has it: in capitals where it's wrong."""
    return found.verdict.value.upper() if found.wrong else found.verdict.value


def exit_code(results: Sequence[SolverResult]) -> ExitCode:
    """Return FINDINGS where the grader was wrong, else PARTIAL where its machinery broke."""
    if any(found.wrong for found in results):
        return ExitCode.FINDINGS
    broken = any(found.verdict is SolverVerdict.BROKEN for found in results)
    return ExitCode.PARTIAL if broken else ExitCode.OK


def _tell(found: SolverResult, *, quiet: bool) -> None:
    if found.verdict is SolverVerdict.BROKEN:
        note(f"{found.name}: the machinery broke, which says nothing about the grader: {found.how}")
    elif not quiet:
        note(f"{found.name}: {verdict_text(found)}, {found.duration_s:.1f} s")


def _as_json(found: SolverResult) -> dict[str, Any]:
    return {**asdict(found), "wrong": found.wrong}


def _summary(opened: OpenTask, results: Sequence[SolverResult], duration_s: float) -> dict[str, Any]:
    def counts(*, honest: bool) -> dict[str, int]:
        seen = Counter(found.verdict for found in results if found.honest is honest)
        return {verdict.value: seen[verdict] for verdict in SolverVerdict}

    verifier = opened.task.verifier
    return {
        "item": opened.task.instance_id,
        "attacks": counts(honest=False),
        "controls": counts(honest=True),
        "checks": say_checks(verifier),
        "canary_share": round(verifier.canaries.share, 4) if verifier.canaries else None,
        "duration_s": round(duration_s, 1),
    }


def _prose(told: dict[str, Any]) -> list[str]:
    def counted(kind: str) -> str:
        seen: dict[str, int] = told[kind]
        return f"{sum(seen.values())} {kind}: " + ", ".join(f"{n} {name}" for name, n in seen.items())

    return [counted("attacks"), counted("controls"), str(told["checks"]), f"took {told['duration_s']} s"]

"""Commands that answer questions about a run: status, tasks, show, why, rejects, retry."""

from dataclasses import asdict
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines, print_table
from swequarry.cli.measured_text import measured_lines
from swequarry.cli.options import Item, Json, Quiet, Workspace_
from swequarry.cli.run_commands import run_and_publish
from swequarry.cli.seal_text import seal_lines
from swequarry.cli.settings import with_changes
from swequarry.cli.watching import show_counts
from swequarry.cli.workspace import open_workspace
from swequarry.config import parse_settings
from swequarry.errors import ExitCode
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.queries import attempts_of
from swequarry.pipeline.publish import read_run
from swequarry.pipeline.reasons import Explanation, explain, find_task, say_checks
from swequarry.pipeline.reporting import last_run
from swequarry.records import Task
from swequarry.report.counts import ends, not_tried
from swequarry.report.measured import say_scope, share_text, strength_of, weakest_first
from swequarry.report.reviewed import review_lines, say_review
from swequarry.report.text import funnel_rows, reason_rows, yield_rows

group = command_group()


@group.command()
def status(
    *,
    watch: Annotated[
        bool, typer.Option("--watch", help="Only the counts, again when they change, until the run ends.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.1, help="With --watch: seconds between looks.")] = 2.0,
    ledger: Annotated[
        str | None,
        typer.Option(help="Only the counts, from `postgresql://HOST/DATABASE`, without a workspace."),
    ] = None,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Show how far the newest run is: funnel, reasons, yield by repository.

    Example: `swequarry status --watch --ledger postgresql://quarry@db/quarry`
    """
    if watch or ledger is not None:
        opened = Ledger.open(ledger, create=False) if ledger else open_workspace(workspace).ledger
        show_counts(opened, every_s=every if watch else None, as_json=as_json)
        return ExitCode.OK
    data = read_run(open_workspace(workspace))
    counts = ends(data)
    if as_json:
        print_json(
            {
                "ends": asdict(counts) | {"candidates": counts.candidates, "not_tried": not_tried(data)},
                "funnel": [asdict(row) for row in funnel_rows(data)],
                "reasons": [asdict(row) for row in reason_rows(data)],
                "repositories": [asdict(row) for row in yield_rows(data)],
            }
        )
        return ExitCode.OK
    print_lines(
        [
            f"{counts.candidates} candidates = {counts.accepted} accepted + {counts.rejected} rejected"
            f" + {counts.failed} failed" + (f" + {counts.open} on their way" if counts.open else "")
        ]
    )
    print_table(
        "Funnel",
        ("stage", "entered", "rejected", "failed", "open", "passed"),
        [(r.stage, r.entered, r.rejected, r.failed, r.open, r.passed) for r in funnel_rows(data)],
    )
    print_table(
        "Reasons",
        ("reason", "count", "meaning", "example"),
        [(r.code, r.count, r.meaning, r.example) for r in reason_rows(data)],
    )
    print_table(
        "Repositories",
        ("repository", "candidates", "accepted", "from commits", "rejected", "failed"),
        [(r.repo, r.candidates, r.accepted, r.from_commits, r.rejected, r.failed) for r in yield_rows(data)],
    )
    return ExitCode.OK


_TASK_COLUMNS = (
    "task",
    "fail_to_pass",
    "pass_to_pass",
    "quarantined",
    "strength",
    "statement",
    "python",
    "canaries",
    "review",
)


@group.command()
def tasks(*, workspace: Workspace_ = None, as_json: Json = False) -> int:
    """List the tasks of the newest run, the weakest tests first; exit code 3 if there is none."""
    found = weakest_first([entry.task for entry in read_run(open_workspace(workspace)).tasks])
    listed = [_task_line(task) for task in found]
    if as_json:
        print_json(listed)
    else:
        shown = [
            {**one, "strength": share_text(strength_of(task))}
            for one, task in zip(listed, found, strict=True)
        ]
        print_table("Tasks", _TASK_COLUMNS, [tuple(one[name] for name in _TASK_COLUMNS) for one in shown])
    return ExitCode.OK if listed else ExitCode.NOTHING_TO_DO


def _task_line(task: Task) -> dict[str, object]:
    verification, canaries, review = task.verification, task.verifier.canaries, task.review
    return {
        "task": task.instance_id,
        "fail_to_pass": len(verification.fail_to_pass),
        "pass_to_pass": len(verification.pass_to_pass),
        "quarantined": len(verification.quarantined),
        "strength": strength_of(task),
        "statement": task.instruction.kind.value,
        "python": task.environment.python_version,
        "canaries": f"{canaries.share:.0%}" if canaries is not None else "none",
        "review": "none" if review is None else "blocked" if review.blocked else "not blocked",
    }


@group.command()
def rejects(
    *,
    code: Annotated[str | None, typer.Option(help="Only this reject code.")] = None,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """List what was rejected or failed, with the reason; exit code 1 if there is any."""
    data = read_run(open_workspace(workspace))
    found = [
        {
            "item": r.item,
            "stage": r.stage,
            "code": r.code.value,
            "message": r.message,
            "evidence": list(r.evidence),
        }
        for r in data.rejects
    ] + [
        {
            "item": f.item,
            "stage": f.stage,
            "code": f.boundary.value,
            "message": f.message,
            "evidence": list(f.evidence),
        }
        for f in data.failures
    ]
    chosen = [one for one in found if code in (None, one["code"])]
    if as_json:
        print_json(chosen)
    else:
        columns = ("item", "stage", "code", "message")
        print_table("Rejects and failures", columns, [tuple(one[name] for name in columns) for one in chosen])
    return ExitCode.FINDINGS if chosen else ExitCode.OK


@group.command()
def why(item: Item, *, workspace: Workspace_ = None, as_json: Json = False) -> int:
    """Say how an item ended and why, stage by stage, with the evidence."""
    explanation = explain(open_workspace(workspace), item)
    if as_json:
        print_json(explanation.to_json())
    else:
        print_lines(_prose(explanation))
    return ExitCode.OK


def _prose(explanation: Explanation) -> list[str]:
    lines = [f"{explanation.item}: {explanation.verdict}"]
    lines += [f"  {line}" for line in explanation.evidence]
    lines += [f"link: {line}" for line in explanation.links]
    lines.append(_before_tries(explanation))
    for one in explanation.tries:
        what = f"  {one.stage}: {one.status}"
        lines.append(what + (f", {one.duration_s:.1f} s" if one.duration_s is not None else ""))
        lines += [f"    {line}" for line in one.message.splitlines()]
    if explanation.log.exists():
        lines.append(f"log: {explanation.log}")
    return lines


def _before_tries(explanation: Explanation) -> str:
    if explanation.tries:
        return "tries:"
    if explanation.stage is None:
        return "no stage has tried it yet"
    return f"no tries of its own: it ended at {explanation.stage}, before any later stage"


@group.command()
def show(item: Item, *, workspace: Workspace_ = None, as_json: Json = False) -> int:
    """Show a task: statement, environment, tests, where it came from."""
    opened = open_workspace(workspace)
    task = find_task(opened, item)
    if as_json:
        print_json({**task.to_json(), "content_sha256": task.content_hash()})
        return ExitCode.OK
    environment, verification = task.environment, task.verification
    print_lines(
        [
            f"{task.instance_id}  {task.content_hash()}",
            f"base commit: {task.initial_state.base_commit}",
            (
                f"environment: Python {environment.python_version}, "
                f"as of {environment.recipe.cutoff:%Y-%m-%d}, "
                f"{environment.backend}, {environment.identity()[:12]}"
            ),
            f"statement ({task.instruction.kind.value}):",
            *(f"  {line}" for line in task.instruction.text.splitlines()),
            f"gold patch: {', '.join(task.candidate.gold_files)}",
            f"test patch: {', '.join(task.candidate.test_files)}",
            *(f"  added: {file.path} ({file.origin}, {file.method})" for file in task.verifier.added),
            f"scope: {say_scope(verification)}",
            f"FAIL_TO_PASS ({len(verification.fail_to_pass)}):",
            *(f"  {test}" for test in verification.fail_to_pass),
            f"PASS_TO_PASS ({len(verification.pass_to_pass)}):",
            *(f"  {test}" for test in verification.pass_to_pass),
            f"beside them: {say_checks(task.verifier)}",
            f"quarantined ({len(verification.quarantined)}):",
            *(f"  {test.id}: {test.reason}" for test in verification.quarantined),
            *measured_lines(task, opened.blobs.get),
            f"review: {say_review(task.review)}",
            *review_lines(task.review),
            *seal_lines(task, attempts_of(opened.ledger, [task.instance_id])),
        ]
    )
    return ExitCode.OK


@group.command()
def retry(*, workspace: Workspace_ = None, as_json: Json = False, quiet: Quiet = False) -> int:
    """Try again what failed in the newest run, poison items too, with the run's own settings."""
    opened = open_workspace(workspace)
    run = last_run(opened)
    count = opened.ledger.reopen_failed(also_final=True)
    if not count and not read_run(opened).failures:
        note("nothing failed; rejected items stay rejected until a setting or a rule changes")
        return ExitCode.NOTHING_TO_DO
    settings = with_changes(
        parse_settings(dict(run.settings)), {"workspace": str(opened.root)}, "settings of the run"
    )
    return run_and_publish(settings, as_json=as_json, quiet=quiet)

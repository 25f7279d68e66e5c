"""`write-tests` and `tests`: write proven tests for an item, and say what hidden tests a task has."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines, print_table
from swequarry.cli.options import Item, Json, Workspace_
from swequarry.cli.workspace import open_workspace
from swequarry.errors import ExitCode, SandboxError
from swequarry.outcome import Accepted, Failed, Rejected
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.model_writing import ModelDesk
from swequarry.pipeline.reasons import find_task
from swequarry.pipeline.writing import HiddenTest, export_tests, hidden_tests, write_now
from swequarry.records import Writing

group = command_group()

ExportTests = Annotated[
    Path | None, typer.Option("--export-tests", help="Write the added test files below this folder.")
]


@group.command()
def write_tests(
    item: Item,
    *,
    export: ExportTests = None,
    runs: Annotated[
        int | None, typer.Option(min=2, max=5, help="Runs after the fix that a test must pass.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="How many runs it may take in all.")] = None,
    model: Annotated[
        str | None, typer.Option(help="The language model that writes too; OPENAI_API_KEY is its key.")
    ] = None,
    workspace: Workspace_ = None,
    as_json: Json = False,
) -> int:
    """Write tests for an item and prove each by running it; exit code 3 if none is admitted.

    The task stays what it is: a run adds tests. This says what would be added, and why others are refused.

    Example: `swequarry write-tests tenacity-647 --export-tests written`
    """
    house = house_of_last_run(open_workspace(workspace))
    given = {"enabled": True, "runs": runs, "budget_runs": budget}
    changes = {name: value for name, value in given.items() if value is not None}
    settings = house.settings.testwriter.model_copy(update=changes)
    llm = house.settings.llm.model_copy(update={} if model is None else {"model": model})
    name, outcome, observed = write_now(house, item, settings, model=ModelDesk(house, llm))
    match outcome:
        case Accepted(value=writing):
            made = export_tests(writing.added, house.workspace.blobs.get, export) if export else []
            _tell(name, writing, observed, [str(path) for path in made], as_json=as_json)
            return ExitCode.OK if writing.added else ExitCode.NOTHING_TO_DO
        case Failed(message=message) | Rejected(message=message):
            raise SandboxError(f"no test of {name} could be proven: {message}")


def _tell(
    item: str, writing: Writing, observed: Mapping[str, Any], made: list[str], *, as_json: bool
) -> None:
    if as_json:
        data = {key: value for key, value in writing.to_json().items() if key != "candidate"}
        print_json({"item": item, **data, "observed": dict(observed), "exported": made})
        return
    rows = [(t.path, t.origin.value, t.method, ", ".join(t.good_for), len(t.kills)) for t in writing.added]
    if rows:
        print_table(f"Admitted for {item}", ("file", "origin", "method", "good for", "kills"), rows)
    print_lines(_lines(writing, observed, made))


def _lines(writing: Writing, observed: Mapping[str, Any], made: list[str]) -> Iterator[str]:
    proposed = len(writing.added) + len(writing.refused)
    yield f"{proposed} proposed, {len(writing.added)} admitted, in {observed.get('runs', 0)} runs"
    for code, count in observed.get("refused", {}).items():
        yield f"  refused, {code}: {count}"
    yield from (f"  left out: {what}" for what in writing.left_out)
    yield from _model_lines(observed.get("model", {}))
    yield from (f"written: {path}" for path in made)


def _model_lines(told: Mapping[str, Any]) -> Iterator[str]:
    if "skipped" in told:
        yield f"  left out: {told['skipped']}"
    elif told:
        tokens = f"{told.get('input_tokens', 0)} + {told.get('output_tokens', 0)} tokens"
        asked = f"{told['asked']} questions, {told.get('cached', 0)} from the cache"
        yield f"  model {told['name']}: {asked}, {tokens}, ${told.get('usd', 0):.4f}"
        yield from (f"    {what}" for what in told.get("said", ()))


@group.command("tests")
def show_tests(
    item: Item, *, export: ExportTests = None, workspace: Workspace_ = None, as_json: Json = False
) -> int:
    """Show a task's hidden tests: who wrote each, its proof, what it rejects.

    Example: `swequarry tests tenacity-647`
    """
    opened = open_workspace(workspace)
    task = find_task(opened, item)
    found = hidden_tests(task)
    made = export_tests(task.verifier.added, opened.blobs.get, export) if export else []
    if as_json:
        print_json([one.to_json() for one in found])
    else:
        columns = ("test", "list", "origin", "method", "good for", "kills", "runs")
        print_table(f"Hidden tests of {task.instance_id}", columns, [_row(one) for one in found])
    for path in made:
        note(f"written: {path}")
    return ExitCode.OK


def _row(one: HiddenTest) -> tuple[object, ...]:
    return one.id, one.kind, one.origin.value, one.method, ", ".join(one.good_for), one.kills, one.runs

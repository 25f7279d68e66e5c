"""`decontam` and `fingerprint`: texts against benchmarks, by hashes."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from miner.decontam.compare import Action, Comparer, Decision
from miner.decontam.duplicates import Duplicate, find_duplicates
from miner.decontam.fingerprint import Fingerprints, make_fingerprints
from miner.decontam.items import Item, ItemProblem, read_items
from miner.decontam.writing import KeptRows
from miner.policy import benchmarks
from swequarry.cli.app import command_group
from swequarry.cli.console import note, print_json, print_lines
from swequarry.cli.options import Json
from swequarry.errors import ExitCode, InputError, UsageError

group = command_group()

Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="A column of text; may be given again. Default: the known ones."),
]
_FINGERPRINTS = ".npz"


@group.command()
def decontam(
    file: Annotated[Path, typer.Argument(help="What to look through: .jsonl or .parquet.")],
    *,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="A benchmark: rows (.jsonl, .parquet) or fingerprints (.npz); may be given again."),
    ] = None,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Also find near-duplicates within the file.")
    ] = False,
    repository: Annotated[
        Action, typer.Option(help="What to do with rows of a benchmark's repository.")
    ] = Action.KEEP,
    column: Columns = None,
    keep: Annotated[
        Path | None, typer.Option(help="Write the rows that aren't removed to this file, in the same format.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write every decision with its matches to this file, as lines of JSON."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Tell which rows of a file are in a benchmark, and quote by what.

    Exit code 1 if a row is to be removed.

    Example: `swequarry decontam mine.jsonl --against swe-bench.parquet --keep clean.jsonl`
    """
    if not against and not duplicates:
        raise UsageError("nothing to compare with; give --against BENCHMARK, or --duplicates")
    comparer = Comparer(benchmarks(tuple(against or ())), repository)
    twice = find_duplicates(file, column or ()) if duplicates else {}
    counts: Counter[str] = Counter({action.value: 0 for action in Action})
    with ExitStack() as stack:
        kept = stack.enter_context(KeptRows(file, keep)) if keep else None
        lines = stack.enter_context(report.open("w", encoding="utf-8")) if report else None
        for number, told in enumerate(_decided(file, column or (), comparer)):
            action, sentences, record = _judged(number, told, twice)
            counts[action] += 1
            if kept is not None:
                kept.row(kept=action is not Action.REMOVE)
            if lines is not None:
                lines.write(json.dumps(record, sort_keys=True) + "\n")
            if sentences and not as_json:
                print_lines([f"{action}\t{record['id']}\t{sentences[0]}"])
    if as_json:
        print_json({"file": str(file), "rows": sum(counts.values()), **counts})
    else:
        note(", ".join(f"{count} {action}" for action, count in counts.items()))
    return ExitCode.FINDINGS if counts[Action.REMOVE] else ExitCode.OK


@group.command()
def fingerprint(
    file: Annotated[Path, typer.Argument(help="The benchmark's rows: .jsonl or .parquet.")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write, .npz.")],
    name: Annotated[str | None, typer.Option(help="The benchmark's name; default: the file's.")] = None,
    column: Columns = None,
) -> int:
    """Write the fingerprints of a benchmark: hashes by which its items are recognised, and no text.

    Example: `swequarry fingerprint swe-bench.parquet -o swe-bench.npz`
    """
    if output.suffix != _FINGERPRINTS:
        raise UsageError(f"{output} should end in {_FINGERPRINTS}: `--against` tells fingerprints by it")
    prints = _made(file, name or file.stem, column or ())
    try:
        prints.save(output)
    except OSError as error:
        raise InputError(f"{output} can't be written: {error.strerror}") from error
    note(f"{len(prints.items)} items in {output}")
    return ExitCode.OK


def _made(path: Path, name: str, columns: list[str] | tuple[str, ...]) -> Fingerprints:
    return make_fingerprints(_items(path, columns), name)


def _items(path: Path, columns: list[str] | tuple[str, ...]) -> Iterator[Item]:
    for read in read_items(path, columns):
        if isinstance(read, Item):
            yield read
        else:
            note(f"{read.file}, row {read.line}: left out: {read.message}")


def _decided(
    path: Path, columns: list[str] | tuple[str, ...], comparer: Comparer
) -> Iterator[Decision | ItemProblem]:
    """Yield one decision or problem for each row, in order."""
    waiting: list[ItemProblem | None] = []

    def items() -> Iterator[Item]:
        for read in read_items(path, columns):
            waiting.append(read if isinstance(read, ItemProblem) else None)
            if isinstance(read, Item):
                yield read

    decisions = comparer.decisions(items())
    for decision in decisions:
        while (problem := waiting.pop(0)) is not None:
            yield problem
        yield decision
    yield from (problem for problem in waiting if problem is not None)


def _judged(
    number: int, told: Decision | ItemProblem, twice: dict[int, Duplicate]
) -> tuple[Action, list[str], dict[str, object]]:
    """Return what is to be done with a row, why in sentences, and both as a record."""
    if isinstance(told, ItemProblem):
        unread: dict[str, object] = {"id": f"{told.file}:{told.line}", "problem": told.message}
        return Action.KEEP, [f"can't be compared: {told.message}"], unread | {"action": Action.KEEP}
    action, sentences = told.action, [str(match) for match in told.matches if match.action is not Action.KEEP]
    record: dict[str, object] = asdict(told)
    if number in twice:
        action = Action.REMOVE
        sentences.append(str(twice[number]))
        record |= {"action": action, "duplicate_of": twice[number].of, "similarity": twice[number].similarity}
    return action, sentences, record

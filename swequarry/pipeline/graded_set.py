"""Grades a file of predictions and writes what came of them.

OUTPUT/<model>/<instance id>/report.json    what `swebench eval` writes, and our verdict of every patch
OUTPUT/<model>.json                         the summary, in the fields of SWE-bench (schema version 2)
OUTPUT/tasks.json                           how each task stands: pass rate, pass@k, pool

The same call again grades only what has no verdict yet: a report holds for the same task and patch.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from swequarry.errors import GitError, InputError, RepositoryError, SandboxError, StorageError
from swequarry.pipeline.grade_reports import (
    file_name,
    known_verdicts,
    report,
    report_place,
    summary,
    write_json,
)
from swequarry.pipeline.grader import Graded, Grader, without_patch
from swequarry.pipeline.predictions import Prediction
from swequarry.pipeline.task_pools import Standing, standing
from swequarry.records import Task, sha256_hex
from swequarry.verify.grade import Reason, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedSet:
    """What a file of predictions came to: verdicts in its order, and how each task stands."""

    found: tuple[tuple[Prediction, Graded], ...]
    standings: tuple[Standing, ...]


async def grade_predictions(
    grader: Grader,
    tasks: Mapping[str, Task],
    predictions: Sequence[Prediction],
    output: Path,
    tell: Callable[[Prediction, Graded], None],
) -> GradedSet:
    """Grade predictions for tasks by their ids, write the reports, and return what came of them.

    `tell` is told of each as it ends. A prediction that can't be graded for our machinery's fault is in the
    result as INFRA_FAILED, and the next call tries it again.

    Raises:
        InputError: a prediction names no task; nothing was graded.
        StorageError: a report can't be written.
    """
    unknown = sorted({p.instance_id for p in predictions} - tasks.keys())
    if unknown:
        raise InputError(
            f"{len(unknown)} predictions name no task of this run: {', '.join(unknown[:5])}; "
            "`swequarry tasks` lists those there are"
        )
    places = [report_place(output, prediction) for prediction in predictions]
    known = [
        known_verdicts(place, tasks[p.instance_id]) for place, p in zip(places, predictions, strict=True)
    ]
    found: dict[int, Graded] = {}
    groups = _groups(predictions)
    async for number, graded in _each(grader, tasks, predictions, known):
        found[number] = graded
        tell(predictions[number], graded)
        place = places[number]
        done = [(predictions[n], found[n]) for n in groups[place_key(predictions[number])] if n in found]
        write_json(place, report(tasks[predictions[number].instance_id], done, known[number].values()))
    ordered = tuple((predictions[number], found[number]) for number in range(len(predictions)))
    standings = await _standings(grader, ordered)
    write_json(output / "tasks.json", [asdict(one) for one in standings])
    for model in sorted({prediction.model for prediction in predictions}):
        mine = [(p, g) for p, g in ordered if p.model == model]
        write_json(output / f"{file_name(model)}.json", summary(tasks, mine))
    return GradedSet(found=ordered, standings=standings)


def place_key(prediction: Prediction) -> tuple[str, str]:
    """Return what predictions have in common that share a report."""
    return prediction.model, prediction.instance_id


def _groups(predictions: Sequence[Prediction]) -> Mapping[tuple[str, str], list[int]]:
    groups = defaultdict(list)
    for number, prediction in enumerate(predictions):
        groups[place_key(prediction)].append(number)
    return groups


async def _each(
    grader: Grader,
    tasks: Mapping[str, Task],
    predictions: Sequence[Prediction],
    known: Sequence[Mapping[str, Graded]],
) -> AsyncIterator[tuple[int, Graded]]:
    async def one(number: int) -> tuple[int, Graded]:
        prediction = predictions[number]
        task, patch = tasks[prediction.instance_id], prediction.patch
        if patch is None:
            return number, without_patch(task)
        before = known[number].get(sha256_hex(patch))
        try:
            if before is not None:  # the verdict stays; the rules may have changed since
                return number, await asyncio.to_thread(grader.reviewed, task, patch, before)
            return number, await grader.grade(task.instance_id, patch)
        except (SandboxError, GitError, RepositoryError, StorageError) as error:
            return number, _broken(task, patch, str(error))

    started = [asyncio.ensure_future(one(number)) for number in range(len(predictions))]
    try:
        for ended in asyncio.as_completed(started):
            yield await ended
    finally:
        for future in started:
            future.cancel()


def _broken(task: Task, patch: bytes, message: str) -> Graded:
    return Graded(
        instance_id=task.instance_id,
        task=task.content_hash(),
        patch_sha256=sha256_hex(patch),
        verdict=Verdict.INFRA_FAILED,
        reason=Reason.MACHINERY,
        message=message,
        fail_to_pass=len(task.verifier.fail_to_pass),
        pass_to_pass=len(task.verifier.pass_to_pass),
    )


async def _standings(grader: Grader, found: Sequence[tuple[Prediction, Graded]]) -> tuple[Standing, ...]:
    by_task: dict[str, list[Graded]] = defaultdict(list)
    for _, graded in found:
        by_task[graded.instance_id].append(graded)
    standings = []
    for name, all_of_it in sorted(by_task.items()):
        resolves = None if any(one.resolved for one in all_of_it) else await _gold_resolves(grader, name)
        standings.append(standing(name, all_of_it, gold_resolves=resolves))
    return tuple(standings)


async def _gold_resolves(grader: Grader, task: str) -> bool | None:
    try:
        gold = await grader.grade(task, await asyncio.to_thread(grader.gold_of, task))
    except (SandboxError, GitError, RepositoryError, StorageError):
        return None
    return None if gold.verdict is Verdict.INFRA_FAILED else gold.resolved

"""Write tests for an item of the newest run on demand, and say what its hidden tests are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swequarry.config import WritingSettings
from swequarry.errors import InputError
from swequarry.git.paths import on_disk
from swequarry.ledger.queries import accepted_of_stage
from swequarry.outcome import Accepted, Outcome
from swequarry.pipeline.known_item import know_item
from swequarry.pipeline.model_writing import ModelDesk
from swequarry.pipeline.reasons import ending_of
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.stages.testwriter import WRITERS, WritingInput, written
from swequarry.records import AddedTest, BlobHash, Strength, Task, TestId, TestOrigin, Writing
from swequarry.write_whole import write_whole
from testwriter.interface import Writer
from testwriter.proof.runs import Stand

Writers = Sequence[tuple[str, Callable[[Stand], Writer]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenTest:
    """One hidden test of a task: who wrote it and how, what it is for, what it was seen to do."""

    id: TestId
    kind: str
    origin: TestOrigin
    method: str
    good_for: tuple[str, ...]
    kills: int
    runs: str
    failing: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "origin": self.origin.value,
            "method": self.method,
            "good_for": list(self.good_for),
            "kills": self.kills,
            "runs": self.runs,
            "failing": self.failing,
        }


def hidden_tests(task: Task) -> list[HiddenTest]:
    """Return the hidden tests of a task, FAIL_TO_PASS first."""
    files = {test: file for file in task.verifier.added for test in file.tests}
    listed = [("FAIL_TO_PASS", test) for test in task.verifier.fail_to_pass]
    listed += [("PASS_TO_PASS", test) for test in task.verifier.pass_to_pass]
    return [_hidden(task, kind, test, files.get(test)) for kind, test in listed]


def _hidden(task: Task, kind: str, test: TestId, file: AddedTest | None) -> HiddenTest:
    runs = task.verification
    before, after = (file.runs_before, file.runs_after) if file else (runs.runs_before, runs.runs_after)
    return HiddenTest(
        id=test,
        kind=kind,
        origin=task.verifier.origin_of(test),
        method=file.method if file else "pull request",
        good_for=file.good_for if file else (),
        kills=len(file.kills) if file else 0,
        runs=f"{before} before, {after} after",
        failing=dict(file.failing).get(test, "") if file else "",
    )


def write_now(
    house: House,
    name: str,
    settings: WritingSettings,
    writers: Writers = WRITERS,
    model: ModelDesk | None = None,
) -> tuple[str, Outcome[Writing], Mapping[str, Any]]:
    """Return the item that a name means, what the TestWriter makes of it now, and what was observed.

    The task stays what it is: the stage of the same name adds tests, in a run. A `model` is heard last.

    Raises:
        ModelUnavailableError: the model's server gives no answers.
        InputError: there's no such item, or it has no environment; says why.
        SandboxError: its world isn't stored any more, and can't be made again.
    """
    known = know_item(house, name)
    if known.snapshot is None or known.environment is None:
        raise InputError(f"{known.item} has no environment to run tests in; `swequarry why {known.item}`")
    asked = WritingInput(
        candidate=known.candidate,
        snapshot=known.snapshot,
        environment=known.environment,
        strength=_strength_of(house, known.item),
    )
    heard = (*writers, *(model.writers() if model is not None else ()))
    outcome, observed = written(house, asked, settings, house.workspace.blobs.put, heard)
    return known.item, outcome, {**observed, **(model.observed() if model is not None else {})}


def _strength_of(house: House, item: str) -> Strength | None:
    """Return the strength of an item's own tests: of the first try, before any were added."""
    ending = ending_of(house.workspace, item)
    if ending is None or not isinstance(ending.outcome, Accepted):
        return None
    task = Task.from_json(ending.outcome.value)
    if not task.verifier.added:
        return task.strength
    ledger = house.workspace.ledger
    found = [Strength.from_json(value) for _, value in accepted_of_stage(ledger, "strength", item=item)]
    return next((one for one in found if one.content_hash() != task.provenance.strength), None)


def export_tests(
    files: Sequence[AddedTest], get_blob: Callable[[BlobHash], bytes], folder: Path
) -> list[Path]:
    """Write test files below a folder, where they lie in the checkout; return what was written.

    Raises:
        StorageError: a file can't be written, or isn't in the blob store.
    """
    made = []
    for file in files:
        target = on_disk(folder, file.path.encode())
        write_whole(target, get_blob(file.content))
        made.append(target)
    return made

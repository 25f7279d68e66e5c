"""What graded predictions leave behind: a report per task, in SWE-bench's fields and ours, and a summary."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from swequarry.pipeline.grader import Graded
from swequarry.pipeline.predictions import Prediction
from swequarry.records import Task, sha256_hex
from swequarry.verify.grade import Reason, Verdict
from swequarry.write_whole import write_whole


def file_name(text: str) -> str:
    """Return a model's name or an id as a file name: `/` as `__`, as in SWE-bench, other signs told apart."""
    plain = text.replace("/", "__")
    kept = re.sub(r"[^A-Za-z0-9._-]", "_", plain).lstrip(".")[:200] or "_"
    return kept if kept == plain else f"{kept}-{sha256_hex(text.encode('utf-8', 'surrogatepass'))[:8]}"


def report_place(output: Path, prediction: Prediction) -> Path:
    """Return where the report of a prediction's model and task lies."""
    return output / file_name(prediction.model) / file_name(prediction.instance_id) / "report.json"


def known_verdicts(place: Path, task: Task) -> Mapping[str, Graded]:
    """Return the verdicts that a report has already, by the hash of the patch; none of another task."""
    try:
        entries = json.loads(place.read_bytes())["swequarry"]
        found = [from_json(entry) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError):
        return {}
    wanted = task.content_hash()
    kept = [one for one in found if one.task == wanted and one.verdict is not Verdict.INFRA_FAILED]
    return {one.patch_sha256: one for one in kept}


def report(task: Task, done: Sequence[tuple[Prediction, Graded]], before: Iterable[Graded]) -> dict[str, Any]:
    """Return a report: SWE-bench's fields for the first patch, and all verdicts, earlier ones too.

    `accepted` is ours: resolved, and no finding of the review blocks.
    """
    prediction, first = done[0]
    now = {graded.patch_sha256 for _, graded in done}
    verdicts = [*(graded for _, graded in done), *(one for one in before if one.patch_sha256 not in now)]
    failed = {test for test, _ in first.failed}
    ran = first.passed_fail_to_pass + first.passed_pass_to_pass > 0 or bool(failed)

    def status(tests: Sequence[str]) -> dict[str, list[str]]:
        success = [str(test) for test in tests if ran and test not in failed]
        return {"success": success, "failure": [test for test in tests if test not in set(success)]}

    verifier = task.verifier
    return {
        task.instance_id: {
            "patch_is_None": prediction.patch is None,
            "patch_exists": prediction.patch is not None,
            "patch_successfully_applied": prediction.patch is not None
            and first.reason is not Reason.NO_PATCH,
            "resolved": first.resolved,
            "accepted": first.accepted,
            "tests_status": {
                "FAIL_TO_PASS": status(verifier.fail_to_pass),
                "PASS_TO_PASS": status(verifier.pass_to_pass),
            },
        },
        "swequarry": [as_json(graded) for graded in verdicts],
    }


def as_json(graded: Graded) -> dict[str, Any]:
    """Return a verdict and what follows: `resolved` was measured, `accepted` needs the review too."""
    said = {"resolved": graded.resolved, "accepted": graded.accepted}
    return {**graded.to_json(), **said, "partial_credit": graded.partial_credit}


def from_json(entry: Mapping[str, Any]) -> Graded:
    """Read what `as_json` gave.

    Raises:
        pydantic.ValidationError: it isn't one.
    """
    follows = {"resolved", "accepted", "partial_credit"}
    return Graded.from_json({name: value for name, value in entry.items() if name not in follows})


def summary(tasks: Mapping[str, Task], found: Sequence[tuple[Prediction, Graded]]) -> dict[str, Any]:
    """Return SWE-bench's summary (schema version 2) of one model; a task counts by its first patch.

    `accepted_ids` are ours: those of `resolved_ids` that no finding of the review blocks.
    """
    first: dict[str, tuple[Prediction, Graded]] = {}
    for prediction, graded in found:
        first.setdefault(graded.instance_id, (prediction, graded))
    empty = sorted(name for name, (prediction, _) in first.items() if prediction.patch is None)
    rest = {name: graded for name, (prediction, graded) in first.items() if prediction.patch is not None}
    infra = sorted(name for name, graded in rest.items() if graded.verdict is Verdict.INFRA_FAILED)
    resolved = sorted(name for name, graded in rest.items() if graded.resolved)
    accepted = sorted(name for name, graded in rest.items() if graded.accepted)
    completed = sorted(rest.keys() - set(infra))
    lists = {
        "submitted": sorted(first),
        "completed": completed,
        "resolved": resolved,
        "unresolved": sorted(set(completed) - set(resolved)),
        "infra_failure": infra,
        "ambiguous_failure": [],
        "empty_patch": empty,
        "error": infra,
        "accepted": accepted,
    }
    return {
        "total_instances": len(tasks),
        **{f"{name}_instances": len(ids) for name, ids in lists.items()},
        **{f"{name}_ids": ids for name, ids in lists.items()},
        "incomplete_ids": sorted(tasks.keys() - first.keys()),
        "failure_reasons": {name: rest[name].message for name in infra},
        "schema_version": 2,
    }


def write_json(path: Path, data: object) -> None:
    """Write a JSON file, whole or not at all.

    Raises:
        StorageError: it can't be written.
    """
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
    write_whole(path, text.encode("ascii"))

"""One row for all: the columns that SWE-bench style tools read, and what proves the row.

SWE-bench's twelve columns, the four that swebench 5 grades with, the image names that other tools look for,
and ours. A row never claims more than is known: `created_at_kind` says which moment `created_at` is, the
image is named only where the task was verified in it, and `dropped_tests` holds the test ids that the
row's log parser would cut.
"""

import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from swequarry.errors import InputError
from swequarry.export.interface import GetBlob, ImageReference, LeaveOutReason, LeftOut
from swequarry.export.measured import (
    StabilityColumn,
    WrongFixesColumn,
    stability_column,
    wrong_fixes_column,
)
from swequarry.export.parsers import (
    EVAL_TYPE,
    PARSERS,
    DroppedTest,
    drop_reason,
    log_parser,
    prints_instances,
    split_ids,
)
from swequarry.export.script import eval_script
from swequarry.export.selection import left_out
from swequarry.export.text import visible_text
from swequarry.records import Candidate, QuarantinedTest, Reviewed, Task, TestId

SCHEMA_VERSION = 2
_SAMPLE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationColumn:
    """What the lists rest on."""

    backend: str
    scope: str
    runs_before: int
    runs_after: int
    tree_proof: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenanceColumn:
    """The parents of the row, by content hash, and the program that made it."""

    source: str
    candidate: str
    snapshot: str
    environment: str
    verification: str
    swequarry_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedColumn:
    """A test that isn't stable, why it left the lists, and its outcomes run by run in both states."""

    id: str
    reason: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task as one row of a dataset.

    Field names are the column names in lower case; `fail_to_pass` and `pass_to_pass` are written in capitals.
    `strength` to `interface` are None until they are measured or reviewed; `strength` is the share of
    `wrong_fixes` that the hidden tests reject. `review` is JSON text: `blocked`, `scores`, `findings`.
    """

    repo: str
    instance_id: str
    base_commit: str
    patch: str
    test_patch: str
    problem_statement: str
    hints_text: str
    created_at: str
    version: str | None
    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    environment_setup_commit: str
    image: str | None
    eval_script: str
    log_parser: str
    eval_type: str
    image_name: str | None
    docker_image: str | None
    image_digest: str | None
    license_spdx: str | None
    license_evidence: str | None
    language: str
    statement_kind: str
    issue_numbers: tuple[int, ...]
    pull_number: int | None
    merged_at: str | None
    created_at_kind: str
    test_cmd: str
    test_framework: str
    test_files: tuple[str, ...]
    dropped_tests: tuple[DroppedTest, ...] = ()
    quarantined_tests: tuple[QuarantinedColumn, ...] = ()
    environment_id: str
    python_version: str
    verification: VerificationColumn
    provenance: ProvenanceColumn
    stability: StabilityColumn | None = None
    strength: float | None = None
    wrong_fixes: WrongFixesColumn | None = None
    review: str | None = None
    decontamination: str | None = None
    interface: str | None = None
    schema_version: int = field(default=SCHEMA_VERSION)
    content_sha256: str


def iso_z(moment: datetime) -> str:
    """Return a moment as `2024-03-01T12:00:00Z`; a naive one is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _created(candidate: Candidate) -> tuple[str, str]:
    """Return the moment that sorts the row in time, and which moment it is."""
    if candidate.created_at is not None:
        return iso_z(candidate.created_at), "created"
    if candidate.merged_at is not None:
        return iso_z(candidate.merged_at), "merged"
    return iso_z(candidate.cutoff), "cutoff"


def image_of(task: Task, image: ImageReference | None) -> ImageReference | None:
    """Return the image of a task, which may be none.

    Raises:
        InputError: the task was verified elsewhere.
    """
    if image is not None and task.verification.backend != "docker":
        raise InputError(
            f"{task.instance_id} was verified in {task.verification.backend}, not in image {image.name}; "
            "verify it with the docker sandbox before naming an image"
        )
    return image


def _verification(task: Task) -> VerificationColumn:
    return VerificationColumn(
        backend=task.verification.backend,
        scope=task.verification.scope,
        runs_before=task.verification.runs_before,
        runs_after=task.verification.runs_after,
        tree_proof=task.candidate.tree_proof.value,
    )


def _provenance(task: Task) -> ProvenanceColumn:
    return ProvenanceColumn(
        source=task.candidate.source,
        candidate=task.provenance.candidate,
        snapshot=task.provenance.snapshot,
        environment=task.provenance.environment,
        verification=task.provenance.verification,
        swequarry_version=task.provenance.swequarry_version,
    )


def _review(review: Reviewed | None) -> str | None:
    if review is None:
        return None
    findings = [finding.to_json() for finding in review.findings]
    said = {"blocked": review.blocked, "scores": dict(review.scores), "findings": findings}
    return json.dumps(said, ensure_ascii=True, sort_keys=True)


def _quarantined(test: QuarantinedTest) -> QuarantinedColumn:
    return QuarantinedColumn(
        id=visible_text(test.id), reason=test.reason, before=tuple(test.before), after=tuple(test.after)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lists:
    """The test lists as the row's parser will read them, and what it wouldn't."""

    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    dropped: tuple[DroppedTest, ...]


def _lists(task: Task, lock: bytes) -> _Lists:
    parser = log_parser(task.environment.recipe.test_framework)
    split = partial(split_ids, parser=parser, instances=prints_instances(lock))
    fail, dropped_fail = split(task.verifier.fail_to_pass, "FAIL_TO_PASS")
    passing, dropped_pass = split(task.verifier.pass_to_pass, "PASS_TO_PASS")
    dropped = tuple(_visible(test) for test in (*dropped_fail, *dropped_pass))
    return _Lists(fail_to_pass=fail, pass_to_pass=passing, dropped=dropped)


def make_row(task: Task, get_blob: GetBlob, image: ImageReference | None = None) -> Row | LeftOut:
    """Return the row of a task, or why it can't be one.

    Raises:
        InputError: an image is named that the task wasn't verified in.
        StorageError: a patch or the lock is missing from the blob store.
    """
    image = image_of(task, image)
    gold, test = get_blob(task.candidate.gold_patch), get_blob(task.verifier.test_patch)
    try:
        patches = gold.decode("utf-8"), test.decode("utf-8")
    except UnicodeDecodeError as error:
        return left_out(task, LeaveOutReason.PATCH_NOT_UTF8, f"a patch isn't UTF-8 at byte {error.start}")
    lists = _lists(task, get_blob(task.environment.lock))
    if not lists.fail_to_pass:
        detail = "; ".join(f"{d.reason.value}: {d.id}" for d in lists.dropped[:_SAMPLE])
        return left_out(task, LeaveOutReason.NO_FAIL_TO_PASS_SURVIVES_PARSER, detail)
    script = eval_script(task, test)
    return _row(task, patches, script, lists, image, get_blob)


def _row(
    task: Task,
    patches: tuple[str, str],
    script: str,
    lists: _Lists,
    image: ImageReference | None,
    get_blob: GetBlob,
) -> Row:
    candidate, environment = task.candidate, task.environment
    licence, statement = candidate.licence, task.instruction
    created_at, created_at_kind = _created(candidate)
    name = image.name if image else None
    return Row(
        repo=candidate.repo.full_name,
        instance_id=task.instance_id,
        base_commit=task.initial_state.base_commit,
        patch=patches[0],
        test_patch=patches[1],
        problem_statement=visible_text(statement.text),
        hints_text=visible_text(statement.hints),
        created_at=created_at,
        version=environment.project_version,
        fail_to_pass=lists.fail_to_pass,
        pass_to_pass=lists.pass_to_pass,
        environment_setup_commit=task.initial_state.base_commit,
        image=name,
        eval_script=script,
        log_parser=log_parser(environment.recipe.test_framework),
        eval_type=EVAL_TYPE,
        image_name=name,
        docker_image=name,
        image_digest=image.digest if image else None,
        license_spdx=licence.spdx if licence else None,
        license_evidence=visible_text(licence.evidence) if licence else None,
        language=candidate.language,
        statement_kind=statement.kind.value,
        issue_numbers=statement.issue_numbers,
        pull_number=candidate.pull_number,
        merged_at=iso_z(candidate.merged_at) if candidate.merged_at else None,
        created_at_kind=created_at_kind,
        test_cmd=visible_text(shlex.join(task.verifier.test_command)),
        test_framework=environment.recipe.test_framework,
        test_files=tuple(visible_text(path) for path in task.verifier.test_files),
        dropped_tests=lists.dropped,
        quarantined_tests=tuple(_quarantined(test) for test in task.verification.quarantined),
        review=_review(task.review),
        decontamination="; ".join(map(visible_text, candidate.contamination)) or None,
        environment_id=environment.identity(),
        python_version=environment.python_version,
        verification=_verification(task),
        provenance=_provenance(task),
        stability=stability_column(task.stability),
        strength=task.strength.share if task.strength is not None else None,
        wrong_fixes=wrong_fixes_column(task.strength, get_blob),
        content_sha256=task.content_hash(),
    )


def _visible(dropped: DroppedTest) -> DroppedTest:
    return DroppedTest(
        id=TestId(visible_text(dropped.id)), list_name=dropped.list_name, reason=dropped.reason
    )


def row_problems(path: str, rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Yield (path, what is wrong) for rows that the tools of the format can't grade.

    Each id must come back whole through the parser that its row names.
    """
    seen: set[str] = set()
    for row in rows:
        if row.instance_id in seen:
            yield path, f"{row.instance_id} is there twice"
        seen.add(row.instance_id)
        if row.log_parser not in PARSERS:
            yield path, f"{row.instance_id}: no log parser {row.log_parser!r} is known"
            continue
        if not row.fail_to_pass:
            yield path, f"{row.instance_id}: no FAIL_TO_PASS, so nothing grades it"
        for test in (*row.fail_to_pass, *row.pass_to_pass):
            reason = drop_reason(test, parser=row.log_parser)
            if reason is not None:
                yield path, f"{row.instance_id}: {row.log_parser} loses {test!r} ({reason.value})"

"""What the page's script is given: JSON of foreign text, made visible first and escaped for a script tag."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from swequarry.errors import StorageError
from swequarry.outcome import REJECT_MEANING
from swequarry.records import (
    BlobHash,
    Environment,
    ReviewSeverity,
    Snapshot,
    Statement,
    Task,
    Verification,
)
from swequarry.report.counts import BOUNDARY_MEANING, is_from_commits, repo_of
from swequarry.report.measured import say_scope, strength_of
from swequarry.report.measured_payload import stability_page, strength_page
from swequarry.report.model import FailureEntry, RejectEntry, ReportData, TaskEntry
from swequarry.report.prose import statement_html
from swequarry.report.reviewed import review_page
from swequarry.report.visible import cut, visible, visible_bytes, visible_prose

GetBlob: TypeAlias = Callable[[BlobHash], bytes]
Json: TypeAlias = dict[str, Any]

_PATCH_LIMIT = 300_000
_LOCK_LIMIT = 60_000
_TESTS_LIMIT = 4_000
_EVIDENCE_LINES = 40
_EVIDENCE_LIMIT = 1_500
_TITLE_LIMIT = 140


def script_json(value: object) -> str:
    """Return JSON that can stand inside a script tag: no `<`, `>` or `&` in it, ASCII only."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def title_of(statement: Statement) -> str:
    """Return the first line of a statement that says something, short enough for a heading."""
    lines = (line.strip().lstrip("#").strip() for line in visible_prose(statement.text).split("\n"))
    title = next((line for line in lines if line), "(no text)")
    return title if len(title) <= _TITLE_LIMIT else title[: _TITLE_LIMIT - 1].rstrip() + "…"


def _evidence(lines: Sequence[str]) -> list[str]:
    shown = [cut(visible(line), _EVIDENCE_LIMIT)[0] for line in lines[:_EVIDENCE_LINES]]
    more = len(lines) - len(shown)
    return [*shown, f"… and {more} more"] if more > 0 else shown


def task_line(entry: TaskEntry) -> Json:
    """Return what the list of tasks shows of one."""
    task = entry.task
    licence = task.candidate.licence
    return {
        "id": visible(task.instance_id),
        "repo": visible(repo_of(entry)),
        "title": title_of(task.instruction),
        "f2p": len(task.verifier.fail_to_pass),
        "p2p": len(task.verifier.pass_to_pass),
        "quarantined": len(task.verification.quarantined),
        "strength": strength_of(task),
        "survivors": len(task.strength.survivors) if task.strength is not None else 0,
        "licence": visible(licence.spdx) if licence and licence.spdx else None,
        "fromCommits": is_from_commits(entry),
        "blocked": task.review is not None and task.review.blocked,
        "doubts": task.review.count(ReviewSeverity.WARN) if task.review is not None else 0,
        "leftOut": entry.left_out,
    }


def lost_lines(data: ReportData) -> Json:
    """Return rejects and failures as rows of (item, repo, stage, kind, code, message, evidence, note)."""
    titles = {stage.name: stage.title for stage in data.stages}
    rows = [_reject_row(entry, titles) for entry in data.rejects]
    rows += [_failure_row(entry, titles) for entry in data.failures]
    codes = {code.value: meaning for code, meaning in REJECT_MEANING.items()}
    boundaries = {boundary.value: meaning for boundary, meaning in BOUNDARY_MEANING.items()}
    return {"rows": rows, "meaning": {"rejected": codes, "failed": boundaries}}


def _reject_row(entry: RejectEntry, titles: dict[str, str]) -> list[Any]:
    return [
        visible(entry.item),
        visible(entry.repo),
        visible(titles.get(entry.stage, entry.stage)),
        "rejected",
        entry.code.value,
        cut(visible(entry.message), _EVIDENCE_LIMIT)[0],
        _evidence(entry.evidence),
        visible(entry.title),
    ]


def _failure_row(entry: FailureEntry, titles: dict[str, str]) -> list[Any]:
    again = "the same command tries it again" if entry.retryable else "isn't tried again"
    tries = "1 attempt" if entry.attempts == 1 else f"{entry.attempts} attempts"
    return [
        visible(entry.item),
        visible(entry.repo),
        visible(titles.get(entry.stage, entry.stage)),
        "failed",
        entry.boundary.value,
        cut(visible(entry.message), _EVIDENCE_LIMIT)[0],
        _evidence(entry.evidence),
        f"{tries}; {again}",
    ]


def _blob_text(get_blob: GetBlob, key: BlobHash, limit: int) -> Json:
    """Return a blob's text, cut at a limit; a blob that is gone is said, not fatal: reports diagnose."""
    try:
        text, gone = cut(visible_bytes(get_blob(key)), limit)
    except StorageError as error:
        return {"text": "", "gone": 0, "problem": str(error)}
    return {"text": text, "gone": gone, "problem": None}


def _tests(task: Task) -> Json:
    causes = {str(test): visible(cause) for test, cause in task.verification.causes}

    def listed(tests: Sequence[str]) -> list[list[str]]:
        return [[visible(test), causes.get(test, "")] for test in tests[:_TESTS_LIMIT]]

    return {
        "f2p": listed(task.verifier.fail_to_pass),
        "p2p": listed(task.verifier.pass_to_pass),
        "f2pCount": len(task.verifier.fail_to_pass),
        "p2pCount": len(task.verifier.pass_to_pass),
        "quarantined": [
            [visible(q.id), visible(q.reason), [o.value for o in q.before], [o.value for o in q.after]]
            for q in task.verification.quarantined
        ],
    }


def _environment(environment: Environment, get_blob: GetBlob) -> Json:
    recipe = environment.recipe
    facts = [
        ["interpreter", environment.python_version],
        ["sandbox", environment.backend],
        ["packages as of", recipe.cutoff.date().isoformat()],
        ["installed as", recipe.install],
        ["project version", environment.project_version or "unknown"],
        ["extras", ", ".join(recipe.extras) or "none"],
        ["framework", recipe.test_framework],
        ["identity", environment.identity()],
    ]
    return {
        "facts": [[name, visible(value)] for name, value in facts],
        "requirements": [visible(line) for line in (*recipe.requirements, *recipe.optional)],
        "tries": [
            [visible(t.result), visible(t.rule or ""), _evidence(t.decisive_lines)] for t in environment.tries
        ],
        "evidence": [
            [visible(e.key), visible(e.value), visible(f"{e.path}:{e.line}" if e.line else e.path)]
            for e in environment.evidence
        ],
        "lock": _blob_text(get_blob, environment.lock, _LOCK_LIMIT),
    }


def _audit(snapshot: Snapshot | None) -> Json | None:
    if snapshot is None:
        return None
    audit = snapshot.audit
    return {
        "history": snapshot.history,
        "tags": len(snapshot.tags),
        "objects": audit.objects,
        "checks": [visible(check) for check in audit.checks],
        "findings": _evidence(audit.findings),
        "missing": _evidence(audit.missing_blobs),
    }


def _facts(task: Task, verification: Verification) -> list[list[str]]:
    candidate = task.candidate
    licence = candidate.licence
    merged = candidate.merged_at
    return [
        ["pull request", f"#{candidate.pull_number}" if candidate.pull_number else "unknown"],
        ["merged", merged.date().isoformat() if merged else "unknown"],
        ["merge kind", candidate.merge_kind.value],
        ["tree proof", candidate.tree_proof.value],
        ["licence", (licence.spdx if licence else None) or "unknown"],
        ["source", candidate.source],
        ["runs", f"{verification.runs_before} before, {verification.runs_after} after"],
        ["scope", say_scope(verification)],
        ["verified in", verification.backend],
        ["base commit", task.initial_state.base_commit],
        ["content hash", task.content_hash()],
    ]


def task_page(entry: TaskEntry, get_blob: GetBlob) -> Json:
    """Return all that the page of one task shows."""
    task = entry.task
    return {
        **task_line(entry),
        "facts": [[name, visible(value)] for name, value in _facts(task, task.verification)],
        "flags": [visible(flag) for flag in task.candidate.flags],
        "statement": visible_prose(task.instruction.text),
        "statementHtml": statement_html(task.instruction.text),
        "statementKind": task.instruction.kind.value,
        "issues": list(task.instruction.issue_numbers),
        "hints": visible_prose(task.instruction.hints),
        "gold": _blob_text(get_blob, task.candidate.gold_patch, _PATCH_LIMIT),
        "test": _blob_text(get_blob, task.verifier.test_patch, _PATCH_LIMIT),
        "command": visible(" ".join((*task.verifier.test_command, *task.verifier.test_files))),
        "tests": _tests(task),
        "stability": stability_page(task.stability),
        "review": review_page(task.review),
        "wrongFixes": strength_page(task.strength, get_blob),
        "environment": _environment(task.environment, get_blob),
        "audit": _audit(entry.snapshot),
        "provenance": [[name, value] for name, value in task.provenance.to_json().items()],
        "durations": [[name, round(seconds, 2)] for name, seconds in entry.durations_s.items()],
    }

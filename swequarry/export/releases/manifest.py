"""The manifest of a release: what it holds and why not more, with the rules and the hash of every file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from swequarry import __version__
from swequarry.export.interface import LeaveOutReason, LeftOut
from swequarry.export.manifest import dataset_hash
from swequarry.export.releases.model import Release, ReleaseTask
from swequarry.export.releases.splits import Split, moment_of
from swequarry.export.rows import iso_z
from swequarry.export.selection import published
from swequarry.records import ContentHash

KIND = "release"
RELEASE_SCHEMA = 1
SPLIT_RULE = (
    "no task of train has a base, a history or a fix of its own that holds the fix of a task of test; "
    "such tasks are left out of train"
)


def release_manifest(
    release: Release, exported: Mapping[Split, Mapping[str, Any]], format_name: str
) -> dict[str, Any]:
    """Return the manifest but for its `files`; `exported` are the manifests of the splits."""
    rows = {task["instance_id"] for made in exported.values() for task in made["tasks"] if task["row"]}
    left_out = [*release.left_out, *(out for made in exported.values() for out in _left_out_of(made))]
    left_out.sort(key=lambda out: out.instance_id)
    tasks = [_task(release, one, rows) for split in Split for one in release.of(split)]
    return {
        "kind": KIND,
        "schema_version": RELEASE_SCHEMA,
        "name": release.name,
        "version": release.version,
        "format": format_name,
        "swequarry_version": __version__,
        "dataset_sha256": dataset_hash(ContentHash(task["content_sha256"]) for task in tasks),
        "verified_sha256": dataset_hash(ContentHash(task["verified_sha256"]) for task in tasks),
        "rules": {
            "splits": SPLIT_RULE,
            **release.settings.model_dump(mode="json"),
            "include_statement_from_commits": release.export.include_statement_from_commits,
        },
        "counts": _counts(tasks, rows, left_out, unread=release.unread),
        "splits": {split.value: _split(release, split, made) for split, made in exported.items()},
        "tasks": tasks,
        "left_out": [
            {
                "instance_id": out.instance_id,
                "verified_sha256": out.content_sha256,
                "reason": out.reason.value,
                "detail": out.detail,
            }
            for out in left_out
        ],
        "deprecated_without_a_task": list(release.unknown),
    }


def _left_out_of(made: Mapping[str, Any]) -> list[LeftOut]:
    return [
        LeftOut(
            instance_id=out["instance_id"],
            content_sha256=ContentHash(out["content_sha256"]),
            reason=LeaveOutReason(out["reason"]),
            detail=out["detail"],
        )
        for out in made["left_out"]
    ]


def _task(release: Release, one: ReleaseTask, rows: set[str]) -> dict[str, Any]:
    task, measured = release.as_it_goes_out(one), one.measured
    return {
        "instance_id": task.instance_id,
        "split": one.split.value,
        "row": task.instance_id in rows,
        "repo": task.candidate.repo.full_name,
        "merged_at": iso_z(moment_of(task.candidate)),
        "content_sha256": task.content_hash(),
        "verified_sha256": published(one.task).content_hash(),
        "budget": {
            **task.budget.to_json(),
            "slowest_run_s": measured.slowest_s if measured else None,
            "measured_runs": measured.runs if measured else 0,
        },
        "answer_in_base": [place.to_json() for place in one.places],
    }


def _counts(
    tasks: Sequence[Mapping[str, Any]], rows: set[str], left_out: Sequence[LeftOut], *, unread: int
) -> dict[str, Any]:
    kinds = Counter(kind for task in tasks for kind in {place["kind"] for place in task["answer_in_base"]})
    return {
        "given": len(rows) + len(left_out),
        "rows": len(rows),
        "left_out": len(left_out),
        "left_out_by_reason": dict(sorted(Counter(out.reason.value for out in left_out).items())),
        "answer_in_base_by_kind": dict(sorted(kinds.items())),
        "without_measured_budget": sum(task["budget"]["measured_runs"] == 0 for task in tasks),
        "unread_files": unread,
    }


def _split(release: Release, split: Split, made: Mapping[str, Any]) -> dict[str, Any]:
    moments = sorted(iso_z(moment_of(one.task.candidate)) for one in release.of(split))
    repositories = Counter(one.task.candidate.repo.full_name for one in release.of(split))
    return {
        "tasks": len(moments),
        "rows": made["counts"]["rows"],
        "dataset_sha256": made["dataset_sha256"],
        "first_merged_at": moments[0],
        "last_merged_at": moments[-1],
        "repositories": dict(sorted(repositories.items())),
    }

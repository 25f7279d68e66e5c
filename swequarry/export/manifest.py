"""The manifest of a dataset: every file, every task, every task left out, and one hash for all."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from swequarry.config import ExportSettings
from swequarry.export.interface import ExportedFile, LeftOut
from swequarry.export.rows import SCHEMA_VERSION
from swequarry.records import ContentHash, Task, sha256_hex

MANIFEST = "manifest.json"


def dataset_hash(hashes: Iterable[ContentHash]) -> str:
    """Return the hash of a set of tasks: SHA-256 over their sorted content hashes, one a line."""
    return sha256_hex("".join(f"{value}\n" for value in sorted(hashes)).encode("ascii"))


def describe_file(folder: Path, path: Path) -> ExportedFile:
    """Return a file's path within the folder, its hash and its size."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return ExportedFile(
        path=path.relative_to(folder).as_posix(), sha256=digest, size_bytes=path.stat().st_size
    )


def describe_folder(folder: Path) -> tuple[ExportedFile, ...]:
    """Return all files below a folder, sorted by path."""
    files = [describe_file(folder, path) for path in folder.rglob("*") if path.is_file()]
    return tuple(sorted(files, key=lambda file: file.path))


def write_manifest(
    folder: Path,
    *,
    released: Sequence[Task],
    rows: Sequence[str],
    left_out: Sequence[LeftOut],
    settings: ExportSettings,
    format_name: str,
) -> tuple[ExportedFile, ...]:
    """Write the manifest of a folder that is finished but for it; return all files, its own among them."""
    manifest = make_manifest(
        released=released,
        rows=rows,
        left_out=sorted(left_out, key=lambda item: item.instance_id),
        files=describe_folder(folder),
        settings=settings,
        format_name=format_name,
    )
    (folder / MANIFEST).write_bytes(manifest)
    return describe_folder(folder)


def make_manifest(
    *,
    released: Sequence[Task],
    rows: Sequence[str],
    left_out: Sequence[LeftOut],
    files: Sequence[ExportedFile],
    settings: ExportSettings,
    format_name: str,
) -> bytes:
    """Return the manifest's bytes; `rows` are the instance ids that the format's own files hold."""
    as_rows = set(rows)
    data: dict[str, Any] = {
        "name": settings.name,
        "format": format_name,
        "schema_version": SCHEMA_VERSION,
        "dataset_sha256": dataset_hash(task.content_hash() for task in released),
        "counts": {
            "given": len(as_rows) + len(left_out),
            "rows": len(as_rows),
            "left_out": len(left_out),
            "left_out_by_reason": _count_reasons(left_out),
        },
        "settings": settings.model_dump(mode="json"),
        "files": [
            {"path": file.path, "sha256": file.sha256, "size_bytes": file.size_bytes} for file in files
        ],
        "tasks": [
            {
                "instance_id": task.instance_id,
                "content_sha256": task.content_hash(),
                "row": task.instance_id in as_rows,
            }
            for task in released
        ],
        "left_out": [
            {
                "instance_id": item.instance_id,
                "content_sha256": item.content_sha256,
                "reason": item.reason.value,
                "detail": item.detail,
            }
            for item in left_out
        ],
    }
    return (json.dumps(data, indent=2, ensure_ascii=True) + "\n").encode("ascii")


def _count_reasons(left_out: Sequence[LeftOut]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in left_out:
        counts[item.reason.value] = counts.get(item.reason.value, 0) + 1
    return dict(sorted(counts.items()))

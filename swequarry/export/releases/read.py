"""Reads a release, or an exported set, as what both are: tasks by id, with what is said of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swequarry.errors import InputError
from swequarry.export.manifest import MANIFEST
from swequarry.export.reader import read_tasks
from swequarry.export.releases.manifest import KIND, RELEASE_SCHEMA
from swequarry.export.releases.splits import Split
from swequarry.records import Task, sha256_hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What a folder of ours holds.

    `splits` maps splits to their dataset folders; an exported set is one folder, under "". `told` are the
    entries of the manifest by instance id, `left_out` the reasons, `manifest_sha256` covers everything.
    """

    name: str
    version: str | None
    format: str
    manifest_sha256: str
    folders: Mapping[str, Path]
    tasks: Mapping[str, Task]
    split_of: Mapping[str, str]
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def verified_sha256(self, instance_id: str) -> str:
        """Return the hash of a task as the run that made it has it: before its budget was filled in."""
        entry = self.told.get(instance_id, {})
        return str(entry.get("verified_sha256") or entry.get("content_sha256"))

    def identity(self) -> dict[str, str | None]:
        """Return what names this content: for files that are about it."""
        return {"name": self.name, "version": self.version, "manifest_sha256": self.manifest_sha256}


def is_release(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is that of a release; else it is an exported set's."""
    return manifest.get("kind") == KIND


def split_folders(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Return the dataset folders of a release by split, in order; of an exported set itself under "".

    Raises:
        InputError: the release is of a newer version than this program.
    """
    if not is_release(manifest):
        return {"": folder}
    if int(manifest.get("schema_version", 0)) > RELEASE_SCHEMA:
        raise InputError(
            f"{folder} is a release of schema {manifest['schema_version']}; this swequarry reads up to "
            f"{RELEASE_SCHEMA}: use a newer one"
        )
    return {split.value: folder / split.value for split in Split if split.value in manifest["splits"]}


def read_dataset(folder: Path) -> Dataset:
    """Read a folder that `swequarry release` or `swequarry export` wrote.

    Raises:
        InputError: it is neither, or a file of it can't be read.
    """
    try:
        data = (folder / MANIFEST).read_bytes()
        manifest = json.loads(data)
        folders = split_folders(folder, manifest)
        told = {entry["instance_id"]: entry for entry in manifest["tasks"]}
        left_out = {entry["instance_id"]: str(entry["reason"]) for entry in manifest["left_out"]}
        name, format_name = str(manifest["name"]), str(manifest.get("format", "swebench"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{folder} is neither a release nor an exported set: {MANIFEST}: {error}; name a folder that "
            "`swequarry release` or `swequarry export` wrote"
        ) from error
    tasks = {split: read_tasks(place) for split, place in folders.items()}
    return Dataset(
        name=name,
        version=manifest.get("version"),
        format=format_name,
        manifest_sha256=sha256_hex(data),
        folders=folders,
        tasks={task.instance_id: task for found in tasks.values() for task in found},
        split_of={task.instance_id: split for split, found in tasks.items() for task in found},
        told=told,
        left_out=left_out,
    )

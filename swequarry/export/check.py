"""Is a release or an exported folder what its manifest says, and can tools of its format read and grade it?

`mend` writes back only bytes whose hash the manifest has, made from other files of the folder or from this
program: nothing is guessed.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swequarry.errors import InputError, UsageError
from swequarry.export.formats import exporter_of
from swequarry.export.interface import Exporter
from swequarry.export.manifest import MANIFEST, dataset_hash
from swequarry.export.reader import FileProblem, check_dataset, read_tasks
from swequarry.export.releases.read import is_release, split_folders
from swequarry.records import Task, sha256_hex
from swequarry.write_whole import write_whole

_OLDEST_FORMAT = "swebench"
"""What manifests without a format are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check found: the format, what was mended, and what is still wrong."""

    format: str
    tasks: int
    mended: tuple[str, ...]
    problems: tuple[FileProblem, ...]


def check_folder(folder: Path, *, fix: bool = False) -> Checked:
    """Check a dataset folder of any format; with `fix`, first mend what can be mended.

    Raises:
        InputError: it has no readable manifest, or one of a format that isn't known.
        StorageError: what is mended can't be written.
    """
    manifest = _manifest(folder)
    if is_release(manifest):
        return _check_release(folder, manifest, fix=fix)
    exporter = _exporter(folder, manifest)
    mended = tuple(_mend(folder, exporter, manifest)) if fix else ()
    problems = [*check_dataset(folder), *_modes(folder)]
    try:
        read = exporter.read_back(folder)
        ids = [task.instance_id for task in read]
        problems += [_problem(path, said) for path, said in exporter.problems(folder)]
        problems += _against_manifest(ids, manifest)
    except InputError as error:
        ids = []
        problems.append(_problem("", str(error)))
    problems += _records(folder, manifest)
    unique = dict.fromkeys(problems)
    return Checked(format=exporter.name, tasks=len(ids), mended=mended, problems=tuple(unique))


def _check_release(folder: Path, manifest: dict[str, Any], *, fix: bool) -> Checked:
    """Check the splits of a release, then that they and all else are what its own manifest says."""
    made = {name: check_folder(place, fix=fix) for name, place in split_folders(folder, manifest).items()}
    problems = [*check_dataset(folder), *_split_problems(folder, manifest)]
    for name, checked in made.items():
        problems += [_problem(f"{name}/{item.path}", item.problem) for item in checked.problems]
    return Checked(
        format=f"release of {manifest.get('format')}",
        tasks=sum(checked.tasks for checked in made.values()),
        mended=tuple(f"{name}/{path}" for name, checked in made.items() for path in checked.mended),
        problems=tuple(dict.fromkeys(problems)),
    )


def _split_problems(folder: Path, manifest: dict[str, Any]) -> Iterator[FileProblem]:
    """Yield tasks that aren't in the split, or not the version, that the manifest says."""
    told = {task["instance_id"]: (task["split"], task["content_sha256"]) for task in manifest["tasks"]}
    try:
        found = {
            task.instance_id: (name, task.content_hash())
            for name, place in split_folders(folder, manifest).items()
            for task in read_tasks(place)
        }
    except InputError as error:
        yield _problem(MANIFEST, str(error))
        return
    for name in sorted(told.keys() | found.keys()):
        if told.get(name) != found.get(name):
            yield _problem(
                MANIFEST, f"{name}: the manifest says {told.get(name)}, its split {found.get(name)}"
            )


def _problem(path: str, said: str) -> FileProblem:
    return FileProblem(path=path, problem=said)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return {**manifest, "files": list(manifest["files"]), "tasks": list(manifest["tasks"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} has no readable {MANIFEST}: {error}; export it again") from error


def _exporter(folder: Path, manifest: dict[str, Any]) -> Exporter:
    try:
        return exporter_of(str(manifest.get("format", _OLDEST_FORMAT)))
    except UsageError as error:
        raise InputError(f"{folder}: {error}") from error


def _modes(folder: Path) -> Iterator[FileProblem]:
    """Yield scripts that aren't executable: some ways of copying lose that, and no hash shows it."""
    for path in _scripts(folder):
        if not os.access(path, os.X_OK):
            yield _problem(path.relative_to(folder).as_posix(), "can't be executed")


def _scripts(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "tasks").glob("*/*/*.sh") if path.is_file())


def _mend(folder: Path, exporter: Exporter, manifest: dict[str, Any]) -> Iterator[str]:
    wrong = {item.path for item in check_dataset(folder) if item.problem in {"missing", "changed"}}
    for file in manifest["files"]:
        if file["path"] not in wrong:
            continue
        for data in exporter.restore(folder, file["path"]):
            if sha256_hex(data) == file["sha256"]:
                write_whole(folder / file["path"], data)
                yield file["path"]
                break
    for path in _scripts(folder):
        if not os.access(path, os.X_OK):
            path.chmod(path.stat().st_mode | 0o111)
            yield path.relative_to(folder).as_posix()


def _against_manifest(ids: list[str], manifest: dict[str, Any]) -> Iterator[FileProblem]:
    expected = {task["instance_id"] for task in manifest["tasks"] if task["row"]}
    for missing in sorted(expected - set(ids)):
        yield _problem(MANIFEST, f"{missing} is in the manifest and not in the format's files")
    for unknown in sorted(set(ids) - expected):
        yield _problem(MANIFEST, f"{unknown} is in the format's files and not in the manifest")


def _records(folder: Path, manifest: dict[str, Any]) -> Iterator[FileProblem]:
    """Yield records that don't hash to what the manifest says of them."""
    try:
        tasks: tuple[Task, ...] = read_tasks(folder)
    except InputError as error:
        yield _problem("records/tasks.jsonl", str(error))
        return
    known = {task["instance_id"]: task["content_sha256"] for task in manifest["tasks"]}
    for task in tasks:
        if known.get(task.instance_id) != task.content_hash():
            yield _problem("records/tasks.jsonl", f"{task.instance_id} isn't the task of the manifest")
    if manifest.get("dataset_sha256") != dataset_hash(task.content_hash() for task in tasks):
        yield _problem(MANIFEST, "dataset_sha256 isn't that of the records")

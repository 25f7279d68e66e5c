"""Writes a release: the tasks of a run under a name and a version, in splits.

```
README.md        the card; with formats that have parquet files, what `datasets.load_dataset(FOLDER)` reads
manifest.json    see `release_manifest`
train/, test/    a dataset folder of the chosen format each, as `swequarry export` writes it; no empty one
```
Made again from the same run, a release has the same bytes, modes and times of files, on whatever day. A
version names one content: what lies in the folder is never replaced by other content of the same version.
"""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from swequarry.errors import UsageError
from swequarry.export.folder import replaced_folder
from swequarry.export.interface import Exporter, GetBlob, ImageReference, Surroundings
from swequarry.export.manifest import MANIFEST, describe_folder
from swequarry.export.releases.card import release_card
from swequarry.export.releases.manifest import release_manifest
from swequarry.export.releases.model import Release
from swequarry.export.releases.splits import Split
from swequarry.records import sha256_hex

_EPOCH_S = 315_532_800
"""The time of every file: 1980-01-01 in UTC, the oldest that ZIP archives can hold."""
_FOLDER_MODE, _FILE_MODE, _PROGRAM_MODE = 0o755, 0o644, 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A release that was written: its manifest, and the hash of the manifest, which covers all of it."""

    manifest: Mapping[str, Any]
    release_sha256: str


def write_release(
    release: Release,
    exporter: Exporter,
    get_blob: GetBlob,
    destination: Path,
    images: Mapping[str, ImageReference],
) -> Released:
    """Write a release as a folder, whole or not at all.

    Raises:
        UsageError: the folder has this version of the release, with other content.
        InputError: the folder holds something that isn't a dataset, or a task has an image of another's.
        StorageError: a blob is missing, or the folder can't be written; what was there stays.
    """
    with replaced_folder(destination) as folder:
        exported = {}
        for split in Split:
            if tasks := [release.as_it_goes_out(one) for one in release.of(split)]:
                named = {"name": f"{release.name} {release.version} ({split.value})"}
                settings = release.export.model_copy(update=named)
                around = Surroundings(images=images, split=split.value)
                exporter.write(tasks, get_blob, folder / split.value, settings, around)
                exported[split] = json.loads((folder / split.value / MANIFEST).read_bytes())
        manifest = release_manifest(release, exported, exporter.name)
        card = release_card(release, manifest, folder)
        (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
        files = [asdict(file) for file in describe_folder(folder)]
        manifest = {**manifest, "files": files}
        data = (json.dumps(manifest, indent=2, ensure_ascii=True) + "\n").encode("ascii")
        _refuse_other_content(destination / MANIFEST, manifest, data)
        (folder / MANIFEST).write_bytes(data)
        _neutralise(folder)
    return Released(manifest=manifest, release_sha256=sha256_hex(data))


def _refuse_other_content(path: Path, manifest: Mapping[str, Any], data: bytes) -> None:
    """Stop before a version that may be out already gets another content.

    Raises:
        UsageError: it would.
    """
    try:
        there = path.read_bytes()
        known = json.loads(there)
        same = all(known.get(name) == manifest[name] for name in ("kind", "name", "version"))
    except (OSError, ValueError, AttributeError):
        return
    if same and there != data:
        raise UsageError(
            f"{path.parent} has version {manifest['version']} of {manifest['name']} with other content; "
            "a version names one content: give another --version, or another folder"
        )


def _neutralise(folder: Path) -> None:
    """Give every file and folder the same times, and modes that say only what is a program."""
    for root, _, names in os.walk(folder, topdown=False):
        for name in names:
            path = Path(root, name)
            program = path.stat().st_mode & stat.S_IXUSR
            path.chmod(_PROGRAM_MODE if program else _FILE_MODE)
            os.utime(path, (_EPOCH_S, _EPOCH_S))
        Path(root).chmod(_FOLDER_MODE)
        os.utime(root, (_EPOCH_S, _EPOCH_S))

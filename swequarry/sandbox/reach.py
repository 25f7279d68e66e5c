"""Makes host paths reachable for a sandbox's uid: a copy in the store where root alone can walk to them.

Root's home is closed to others (mode 0700), and pyenv often lies in it. bubblewrap resolves every source
path as the uid that runs it, so such a folder is copied once (hard links where the file system allows, so
that it costs no space and keeps all times) and shown inside at its original place.
"""

import hashlib
import os
from pathlib import Path

from swequarry.errors import SandboxError
from swequarry.sandbox.bubblewrap_store import WorldStore
from swequarry.sandbox.host import is_reachable
from swequarry.sandbox.trees import link_tree


def _fingerprint(path: Path) -> str:
    """Name a copy by place and state: an upgraded interpreter gets a new one."""
    status = path.stat()
    named = f"{path}\0{status.st_ino}\0{status.st_mtime_ns}\0{status.st_size}"
    return hashlib.sha256(os.fsencode(named)).hexdigest()[:24]


def shown_copy(store: WorldStore, path: Path, within: Path | None = None) -> Path:
    """Return where the store's uid can read a path: itself, or a copy in the store.

    `within` is the folder to copy so that the path keeps what it needs beside it.

    Raises:
        SandboxError: nothing is there, or it can't be copied.
    """
    if not path.exists():
        raise SandboxError(f"{path} doesn't exist (any more); it was to be shown in a sandbox")
    if not store.owner.drop or is_reachable(path, store.owner) or path.is_relative_to(store.path):
        return path
    folder = within or path
    target = store.path / "interpreters" / _fingerprint(path)
    if not target.exists():
        with store.private_folder() as private:
            made = private / "copy"
            made.mkdir(mode=0o755)
            link_tree(folder, made / folder.name)
            if not target.exists():
                made.rename(target)
    return target / folder.name / path.relative_to(folder)

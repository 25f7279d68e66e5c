"""Trees as plain files on disk, as a checkout on Linux would have them.

Git itself writes the files, because attributes of the repository decide about line ends, `ident` and
encodings, and because git refuses paths that lead out of the folder. No filter is ever run: none is
configured, so a Git LFS pointer stays a pointer.
"""

import tempfile
from collections.abc import Collection
from pathlib import Path

from swequarry.git.paths import on_disk
from swequarry.git.run import Place, run_git
from swequarry.git.store import GITLINK_MODE, TreeEntry, object_errors


def index_lines(entries: Collection[TreeEntry]) -> bytes:
    """Return tree entries as `git update-index -z --index-info` reads them."""
    return b"".join(b"%o %s 0\t%s\0" % (e.mode, e.sha.encode("ascii"), e.path) for e in entries)


def check_out(place: Place, paths: Collection[bytes] | None = None) -> None:
    """Write the files of an index (all, or only some paths) below the work tree.

    `place` names git_dir, work_tree and index. Folders of submodules are left to the caller.

    Raises:
        ObjectMissingError: the content of a file isn't in the store.
        GitError: a path can't be written (it leaves the folder, or no space is left).
    """
    with object_errors():
        if paths is None:
            run_git(["checkout-index", "--all", "--force", "--index"], place)
        elif paths:
            named = b"\0".join(paths) + b"\0"
            run_git(["checkout-index", "--force", "--index", "-z", "--stdin"], place, stdin=named)


def write_files(git_dir: Path, entries: Collection[TreeEntry], destination: Path, tree: str) -> None:
    """Write some files of a tree below an existing folder.

    The whole tree goes into the index, because its `.gitattributes` decide how files are written.

    Raises:
        ObjectMissingError, GitError: as `check_out`.
    """
    with tempfile.TemporaryDirectory(prefix="swequarry-index-") as scratch:
        place = Place(git_dir=git_dir, work_tree=destination, index=Path(scratch) / "index")
        with object_errors():
            run_git(["read-tree", tree], place)
        check_out(place, [entry.path for entry in entries if entry.mode != GITLINK_MODE])
    for entry in entries:
        if entry.mode == GITLINK_MODE:
            on_disk(destination, entry.path).mkdir(parents=True, exist_ok=True)

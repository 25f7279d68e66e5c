"""Copying and deleting folders whose content may be hostile: odd names, no permissions, endless depth."""

import os
import shutil
import subprocess
from pathlib import Path

from swequarry.errors import SandboxError


def _run(*argv: str | Path) -> str | None:
    """Run a host tool in the C locale; return None when it worked, else the end of its messages."""
    done = subprocess.run(
        [os.fspath(part) for part in argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
    )
    return None if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip()[-400:]


def remove_tree(path: Path) -> None:
    """Delete a folder whatever it holds; one that isn't there is fine.

    The common small case is done here. What that can't do (folders without permissions, a nesting deeper
    than Python's stack) is left to chmod(1) and rm(1), which walk without recursion.

    Raises:
        SandboxError: something is left.
    """
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        _run("chmod", "-R", "u+rwX", "--", path)
        trouble = _run("rm", "-rf", "--one-file-system", "--", path)
        if path.exists():
            why = trouble or "it came back"
            raise SandboxError(f"can't delete {path}: {why}; delete it by hand") from None


def copy_tree(source: Path, target: Path, *, owner: tuple[int, int] | None = None) -> None:
    """Copy a folder's content into a new folder: modes, links and times are kept, owners are given.

    Times matter: byte code and compiled extensions are judged by them. `owner` is (uid, gid), None for ours.

    Raises:
        SandboxError: it can't be read or there is no room.
    """
    target.mkdir(parents=True)
    trouble = _run(
        "cp", "-R", "--no-dereference", "--preserve=mode,timestamps,links", "--reflink=auto", "--",
        f"{source}/.", target,
    )  # fmt: skip
    if trouble is None and owner is not None:
        trouble = _run("chown", "-R", "--no-dereference", f"{owner[0]}:{owner[1]}", "--", target)
    if trouble is not None:
        remove_tree(target)
        raise SandboxError(f"can't copy {source} into the sandbox store: {trouble}")


def link_tree(source: Path, target: Path) -> None:
    """Copy a file or folder as hard links where the file system allows it, else with all times kept.

    For read-only use: the content is shared with the source.

    Raises:
        SandboxError: it can't be read or there is no room.
    """
    if _run("cp", "-al", "--", source, target) is None:
        return
    remove_tree(target)
    trouble = _run("cp", "-a", "--reflink=auto", "--", source, target)
    if trouble is not None:
        remove_tree(target)
        raise SandboxError(f"can't copy {source} to where sandboxes can read it: {trouble}")

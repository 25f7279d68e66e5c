"""The closure of a commit: the commit, its ancestors, and every tree and blob that they name.

Ids name content (git is a Merkle tree), so a closure listed in one store is the closure in every store.
The walk is the costly part (one core, 2.5 s for 60,000 commits), so a long history is walked in two parts
at once: the closure of an ancestor, and what is reachable from the commit but not from that ancestor.
Together they are the whole by definition of the walk.
"""

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from swequarry.errors import GitError
from swequarry.git.run import Place, run_git, started_git
from swequarry.git.store import object_errors

_WORTH_TWO_WALKS = 2000
_NEWER_SHARE = 0.3  # recent commits have larger trees: measured, both walks end at about the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """Object ids (hex, as bytes) in the order of the walk.

    `nodes` are commits and trees; `blobs` those that the trees name, whether or not the store holds them;
    `missing` are commits and trees that the store lacks (a damaged or tree-filtered clone).
    """

    nodes: dict[bytes, None]
    blobs: dict[bytes, None]
    missing: frozenset[bytes]


def _middle(place: Place, base: str) -> str | None:
    line = run_git(["rev-list", "--first-parent", base], place).split()
    return line[int(len(line) * _NEWER_SHARE)].decode("ascii") if len(line) >= _WORTH_TWO_WALKS else None


def list_closure(place: Place, base: str) -> Closure:
    """Walk from a commit through a store; a shallow file of `place` bounds the walk.

    Raises:
        ObjectMissingError: the commit isn't there, or an ancestor is absent without a shallow mark.
        GitError: git failed.
    """
    with object_errors():
        middle = _middle(place, base)
        parts = [[base]] if middle is None else [[middle], [base, f"^{middle}"]]
        with ExitStack() as files:
            outputs = [files.enter_context(tempfile.TemporaryFile()) for _ in parts]
            with ExitStack() as walks:
                for part, output in zip(parts, outputs, strict=True):
                    stderr = files.enter_context(tempfile.TemporaryFile())
                    command = [*_WALK, *part, "--"]
                    walks.enter_context(started_git(command, place, stdout=output, stderr=stderr))
            for output in outputs:
                output.seek(0)
            # The newer part comes first: packs list recent objects first, as git's own do.
            return _sort_out([line for output in reversed(outputs) for line in output.read().split()])


_WALK = (
    "rev-list",
    "--objects",
    "--no-object-names",
    "--missing=print",
    "--filter=blob:none",  # with the next option it doesn't drop blobs, it marks them: `~id`
    "--filter-print-omitted",
)


def _sort_out(lines: list[bytes]) -> Closure:
    nodes: dict[bytes, None] = {}
    blobs: dict[bytes, None] = {}
    missing = set()
    for line in lines:
        if line.startswith(b"~"):
            blobs[line[1:]] = None
        elif line.startswith(b"?"):
            missing.add(line[1:])
        else:
            nodes[line] = None
    return Closure(nodes=nodes, blobs=blobs, missing=frozenset(missing))


def stored_objects(place: Place) -> frozenset[bytes]:
    """Return every object of a store, reachable or not, alternates included."""
    command = ["cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check=%(objectname)"]
    return frozenset(run_git(command, place).split())


def depth_boundary(place: Place, base: str, depth: int) -> tuple[str, ...]:
    """Return the oldest commits within `depth` generations of a commit: the lines of a shallow file.

    A commit is as deep as its shortest path says, as in `git fetch --depth`.

    Raises:
        ObjectMissingError: a commit is absent.
    """
    if depth < 1:
        raise GitError(f"a history of {depth} commits is impossible; the smallest holds the base alone")
    seen = {base}
    layer = [base]
    cut: list[str] = []
    for generation in range(1, depth + 1):
        asked = "\n".join(layer).encode("ascii") + b"\n"
        with object_errors():
            lines = run_git(["rev-list", "--no-walk=unsorted", "--parents", "--stdin"], place, stdin=asked)
        parents = {fields[0]: fields[1:] for fields in (line.split() for line in lines.decode().splitlines())}
        if generation == depth:
            cut = [commit for commit in layer if any(p not in seen for p in parents[commit])]
        layer = sorted({p for commit in layer for p in parents[commit]} - seen)
        seen.update(layer)
        if not layer:
            break
    return tuple(sorted(cut))


def write_shallow_file(folder: Path, commits: tuple[str, ...]) -> Path | None:
    """Write a shallow file into a folder; None where nothing is cut."""
    if not commits:
        return None
    path = folder / "shallow"
    path.write_bytes("".join(f"{commit}\n" for commit in commits).encode("ascii"))
    return path

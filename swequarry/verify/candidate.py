"""A solver's work as it enters grading: a patch, or a tree of plain files compared on our side.

No git command is ever run in a folder of the solver's: its settings, hooks, filters and attributes would
decide what we see (R16). Its files are read as bytes, and only regular files and links count.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import PatchError
from swequarry.git.checkout import index_lines, write_files
from swequarry.git.patches import end_last_line, parse_patch
from swequarry.git.paths import on_disk, path_text
from swequarry.git.run import Place, run_git
from swequarry.git.store import TreeEntry, blob_id, list_files
from swequarry.git.trees import ChangedPath, TreeWorkbench
from swequarry.records import BlobHash, Canaries, Candidate, HeldOut, Recipe, TestId, TreeSha, Verification
from swequarry.verify.frameworks import invocation
from swequarry.verify.pytestconfig import same_settings, with_settings_of
from swequarry.verify.sifting import Fate, Ground, Note, Sieve
from swequarry.verify.states import state_trees
from swequarry.verify.survey import Survey
from swequarry.verify.targets import path_bytes

_MAX_PATCH = 64 << 20
_MAX_FILE = 64 << 20
_LINK = 0o120000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What grading knows of a task: its trees (in the workbench's store), its tests, how they are run.

    Canaries and twins are None where none were made yet; `proofs` makes them.
    """

    base: TreeSha
    before: TreeSha
    after: TreeSha
    test_files: tuple[str, ...]
    fail_to_pass: tuple[TestId, ...]
    pass_to_pass: tuple[TestId, ...]
    recipe: Recipe
    canaries: Canaries | None = None
    held_out: HeldOut | None = None

    @classmethod
    def make(
        cls,
        bench: TreeWorkbench,
        candidate: Candidate,
        verification: Verification,
        recipe: Recipe,
        get_blob: Callable[[BlobHash], bytes],
    ) -> Self:
        """Make the trees of a verified candidate from its patches.

        Raises:
            PatchError, ObjectMissingError, StorageError: as `state_trees`.
        """
        before, after = state_trees(bench, candidate, get_blob)
        return cls(
            base=candidate.base_tree,
            before=before,
            after=after,
            test_files=verification.test_files,
            fail_to_pass=verification.fail_to_pass,
            pass_to_pass=verification.pass_to_pass,
            recipe=recipe,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sifted:
    """What of a candidate runs: `tree` is base with what crossed over, `own` its delta to base.

    `delta` has the hidden tests on top, each byte as the test patch gives it.
    """

    tree: TreeSha
    own: TreeDelta
    delta: TreeDelta
    notes: tuple[Note, ...]


def patched_tree(bench: TreeWorkbench, base: TreeSha, patch: bytes) -> tuple[TreeSha, tuple[Note, ...]]:
    """Return the tree that a candidate's patch makes of base, without files of git's own.

    Raises:
        PatchError: it can't be parsed, is too large, or doesn't apply.
        ObjectMissingError: base lacks a file that it changes.
    """
    if len(patch) > _MAX_PATCH:
        raise PatchError(f"the patch is larger than {_MAX_PATCH >> 20} MiB")
    notes = []
    for file in parse_patch(patch) if b".git" in patch.lower() else ():
        inner = [path for path in file.paths if any(p.lower() == b".git" for p in path.split(b"/"))]
        if inner:
            patch = patch.replace(end_last_line(file.raw), b"", 1).replace(file.raw, b"", 1)
            notes.append(Note(code="R16", place=path_text(inner[0]), detail="a file of git's own"))
    return bench.apply(base, patch), tuple(notes)


def folder_tree(bench: TreeWorkbench, base: TreeSha, folder: Path) -> tuple[TreeSha, tuple[Note, ...]]:
    """Return the tree of a folder of plain files, as `git add` would make it if nobody had touched git.

    `.git` is left out at any depth, and so are new files that base's own ignore files name: what building and
    running left. Links are never followed; what is neither file nor link, and what can't be read, is noted.

    Raises:
        GitError: the scratch store can't be written.
    """
    known = {entry.path: entry for entry in list_files(bench.place, base)}
    entries = [entry for entry in known.values() if entry.kind == "commit"]
    notes: list[Note] = []
    submodules = frozenset(
        entry.path for entry in entries
    )  # their files are the world's; no change crosses over
    seen = [(path, found) for path, found in _walk(folder, notes) if not _below(path, submodules)]
    left = ignored(bench, base, [path for path, _ in seen if path not in known])
    for path, found in seen:
        data = None if path in left else _content(folder, path, found, notes)
        if data is None:
            continue
        mode = _LINK if stat.S_ISLNK(found.st_mode) else 0o100755 if found.st_mode & 0o100 else 0o100644
        sha = blob_id(data)
        if path not in known or sha != known[path].sha:
            run_git(["hash-object", "-w", "--stdin"], bench.place, stdin=data)
        entries.append(TreeEntry(path=path, mode=mode, kind="blob", sha=sha))
    run_git(["read-tree", "--empty"], bench.place)
    run_git(["update-index", "-z", "--index-info"], bench.place, stdin=index_lines(entries))
    tree = run_git(["write-tree", "--missing-ok"], bench.place).decode("ascii").strip()
    return TreeSha(tree), tuple(notes)


def ignored(bench: TreeWorkbench, tree: TreeSha, paths: Collection[bytes]) -> frozenset[bytes]:
    """Return those of some paths that a tree's own `.gitignore` files name.

    Raises:
        GitError: the scratch folder can't be written.
    """
    if not paths:
        return frozenset()
    with tempfile.TemporaryDirectory(prefix="swequarry-ignore-") as scratch:
        files = Path(scratch, "files")
        rules = [e for e in list_files(bench.place, tree) if e.path.rsplit(b"/", 1)[-1] == b".gitignore"]
        write_files(bench.place.git_dir or files, [e for e in rules if e.mode != _LINK], _made(files), tree)
        for path in paths:
            _made(on_disk(files, path).parent)
            on_disk(files, path).touch()
        where = Place(git_dir=bench.place.git_dir, work_tree=files, index=Path(scratch, "index"))
        listed = ["ls-files", "-z", "--others", "--ignored", "--exclude-per-directory=.gitignore"]
        return frozenset(run_git(listed, where).split(b"\0")[:-1])


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _walk(folder: Path, notes: list[Note]) -> Iterator[tuple[bytes, os.stat_result]]:
    root = os.fsencode(folder)
    for place, names, files in os.walk(root, onerror=lambda error: _unread(notes, error)):
        links = [name for name in names if os.path.islink(os.path.join(place, name))]  # noqa: PTH114, PTH118
        names[:] = sorted(name for name in names if name.lower() != b".git" and name not in links)
        for name in sorted([*files, *links]):
            whole = os.path.join(place, name)  # noqa: PTH118 (bytes)
            path, found = os.path.relpath(whole, root), os.lstat(whole)
            if name.lower() == b".git":
                continue
            if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
                yield path, found
            else:
                notes.append(Note(code="R17", place=path_text(path), detail="a device, pipe or socket"))


def _unread(notes: list[Note], error: OSError) -> None:
    place = os.fsencode(error.filename or b"")
    notes.append(Note(code="R17", place=path_text(place), detail="a folder that can't be read"))


def _content(folder: Path, path: bytes, found: os.stat_result, notes: list[Note]) -> bytes | None:
    whole = os.path.join(os.fsencode(folder), path)  # noqa: PTH118 (bytes)
    if found.st_size > _MAX_FILE:
        detail = f"larger than {_MAX_FILE >> 20} MiB"
    else:
        try:
            if stat.S_ISLNK(found.st_mode):
                return os.readlink(whole)  # noqa: PTH115 (bytes)
            with open(os.open(whole, os.O_RDONLY | os.O_NOFOLLOW), "rb") as stream:  # noqa: PTH123
                return stream.read(_MAX_FILE)
        except OSError as error:
            detail = f"it can't be read: {error.strerror}"
    notes.append(Note(code="R17", place=path_text(path), detail=detail))
    return None


def sift(bench: TreeWorkbench, case: Case, tree: TreeSha, survey: Survey) -> Sifted:
    """Return what of a candidate's tree runs, and notes about the rest.

    Raises:
        PatchError: what crosses over can't stand beside what doesn't (a file in the place of a folder).
        GitError: git can't write its files.
    """
    changes = bench.changes(case.base, tree)
    sieve = Sieve(ground(bench, case, survey), _sizes(bench, changes))
    fates: dict[Fate, list[bytes]] = {fate: [] for fate in Fate}
    notes = []
    for change in changes:
        fate, note = sieve.judge(change)
        fates[fate].append(change.paths[0])
        notes += [note] if note is not None else []
    gold = bench.compose(case.base, case.after, fates[Fate.GOLD])
    kept = bench.compose(gold, tree, [*fates[Fate.CROSSES], *fates[Fate.SETTINGS]])
    own = bench.delta(case.base, kept)
    own, more = _with_settings(bench, case, own, fates[Fate.SETTINGS])
    hidden = bench.delta(case.base, case.before)
    return Sifted(tree=kept, own=own, delta=overlaid(own, hidden), notes=(*notes, *more))


def ground(bench: TreeWorkbench, case: Case, survey: Survey) -> Ground:
    """Return what the changes of candidates of a task are held against."""
    script = invocation(case.recipe).script
    return Ground(
        base={entry.path: entry.mode for entry in list_files(bench.place, case.base)},
        hidden=_touched(bench, case.base, case.before),
        gold=_touched(bench, case.before, case.after),
        names=survey.names,
        roots=survey.roots,
        targets=[path_bytes(path) for path in case.test_files],
        scripts=[os.path.normpath(os.fsencode(script))] if script is not None else [],
    )


def overlaid(under: TreeDelta, over: TreeDelta) -> TreeDelta:
    """Return one delta for two, the second of which wins wherever they meet."""
    removed = {path for path in under.removed if path not in over.files} | set(over.removed)
    taken = {*over.files, *over.removed}
    above = {path[:at] for path in over.files for at in range(len(path)) if path[at : at + 1] == b"/"}
    files = {
        path: content
        for path, content in under.files.items()
        if path not in taken and path not in above and not _below(path, over.files)
    }
    return TreeDelta(files={**files, **over.files}, removed=tuple(sorted(removed - above)))


def _below(path: bytes, files: Collection[bytes]) -> bool:
    return any(path[:at] in files for at in range(len(path)) if path[at : at + 1] == b"/")


def _touched(bench: TreeWorkbench, old: TreeSha, new: TreeSha) -> frozenset[bytes]:
    return frozenset(path for change in bench.changes(old, new) for path in change.paths)


def _sizes(bench: TreeWorkbench, changes: Collection[ChangedPath]) -> dict[str, int]:
    asked = "".join(f"{change.new_sha}\n" for change in changes).encode("ascii")
    answer = run_git(["cat-file", "--batch-check=%(objectname) %(objectsize)"], bench.place, stdin=asked)
    words = [line.split() for line in answer.decode("ascii").splitlines()]
    return {name: int(size) for name, size in words if size.isdigit()}


def _blob(bench: TreeWorkbench, tree: TreeSha, path: bytes) -> bytes | None:
    for entry in list_files(bench.place, tree):
        if entry.path == path and entry.kind == "blob":
            return run_git(["cat-file", "blob", entry.sha], bench.place)
    return None


def _with_settings(
    bench: TreeWorkbench, case: Case, own: TreeDelta, paths: Collection[bytes]
) -> tuple[TreeDelta, list[Note]]:
    """Put the trusted settings of pytest into the candidate's files: gold's where gold changed them."""
    files, removed, notes = dict(own.files), set(own.removed), []
    for path in paths:
        base, gold = (_blob(bench, tree, path) for tree in (case.base, case.after))
        trusted = base if same_settings(path, base, gold) else gold
        theirs = files[path].data if path in files else None
        if same_settings(path, theirs, trusted):
            continue
        made = trusted if theirs is None else with_settings_of(path, theirs, trusted)
        notes.append(
            Note(code="R2", place=path_text(path), detail="other settings of pytest; grading has its own")
        )
        if made is None:
            files.pop(path, None)
            removed -= {path}
        else:
            removed -= {path}
            files[path] = FileContent(data=made, mode=files[path].mode if path in files else 0o100644)
    return TreeDelta(files=files, removed=tuple(sorted(removed))), notes

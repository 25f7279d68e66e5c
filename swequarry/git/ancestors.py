"""Whether the ancestors of a base commit hold the fix already: taken back, undone, or tried before.

History that stays in a world is read by solvers, so a fix that lies in it is an answer within reach. Two
rules decide, over every version that the changed files ever had (see `filehistory`), white space ignored:

- *lines*: more than half of the fix's distinctive lines stand in old versions of the files that it changes.
  Which lines those are is told in `fixlines`. For each file the one version with the
  most of them counts.
- *patch-id*: a commit has the patch id of the fix (`git patch-id --stable`), forwards or backwards. It is for
  fixes with few distinctive lines; with more of them, the first rule sees the same commit.

Documentation and binary files count for neither. What this can't see: the fix in a file that it doesn't
change (written elsewhere, or moved there more often than `filehistory` follows), in a message, in other
words, or in blobs that a partial mirror lacks (`unread` names their files).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from swequarry.errors import ObjectMissingError
from swequarry.git.filehistory import NO_BLOB, Version, file_histories
from swequarry.git.fixlines import base_lines, code_files, distinctive_lines, squeezed
from swequarry.git.patches import FilePatch
from swequarry.git.paths import path_text
from swequarry.git.run import Place, run_git
from swequarry.git.store import ObjectReader, object_errors, object_reader
from swequarry.git.trees import DIFF_OPTIONS
from swequarry.records import CommitSha, FoundFix

_ENOUGH_LINES = 3
"""With so many distinctive lines the patch id is not asked for: an equal patch has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AncestorSearch:
    """What a search found; `unread` are files with versions whose content the store lacks, sorted."""

    found: FoundFix | None = None
    unread: tuple[bytes, ...] = ()


@dataclass(slots=True)
class _Scan:
    """What the versions of the changed files hold: the lines of one file's best version, sums by blob."""

    found: list[tuple[int, CommitSha, bytes]] = field(default_factory=list)
    sums: dict[str, int] = field(default_factory=dict)
    unread: set[bytes] = field(default_factory=set)


def find_fix(place: Place, base: CommitSha, gold_patch: bytes) -> AncestorSearch:
    """Search a commit and its ancestors for a fix; `place` may bound them by a shallow file.

    Raises:
        PatchError: the fix is no patch.
        ObjectMissingError: an ancestor or one of its trees isn't in the store.
    """
    files = code_files(gold_patch)
    if not files:
        return AncestorSearch()
    histories = file_histories(place, base, [file.paths for file in files])
    with object_reader(place) as reader:
        known = base_lines(reader, place, base, files)
        lines = distinctive_lines(files, known)
        scan = _scan(reader, histories, lines)
    found = _by_lines(scan, sum(map(len, lines)))
    if found is None and sum(map(len, lines)) < _ENOUGH_LINES:
        found = _by_patch_id(place, files, histories, scan)
    return AncestorSearch(found=found, unread=tuple(sorted(scan.unread)))


def _sum(lines: Iterable[bytes]) -> int:
    """Return a sum that equal lines give in any order; empty ones add nothing."""
    return sum(map(hash, filter(None, lines)))


def _scan(
    reader: ObjectReader, histories: Sequence[Sequence[Version]], lines: Sequence[frozenset[bytes]]
) -> _Scan:
    scan = _Scan()
    for history, wanted in zip(histories, lines, strict=True):
        best = (0, CommitSha(""), b"")
        seen = {NO_BLOB}
        for version in history:
            if version.new in seen:
                continue
            seen.add(version.new)
            try:
                _, data = reader.read(version.new)
            except ObjectMissingError:
                scan.unread.add(version.path)
                continue
            there = squeezed(data).split(b"\n")
            scan.sums[version.new] = _sum(there)
            count = len(wanted.intersection(there))
            if count > best[0]:
                best = (count, version.commit, version.path)
        scan.found.append(best)
    return scan


def _by_lines(scan: _Scan, wanted: int) -> FoundFix | None:
    count = sum(found for found, _, _ in scan.found)
    if not wanted or 2 * count <= wanted:
        return None
    _, commit, path = max(scan.found, key=lambda best: best[0])
    return FoundFix(rule="lines", commit=commit, path=path_text(path), lines_found=count, lines_added=wanted)


# --- by patch id ---------------------------------------------------------------------------------------


def _by_patch_id(
    place: Place, files: Sequence[FilePatch], histories: Sequence[Sequence[Version]], scan: _Scan
) -> FoundFix | None:
    hunks = [hunk for file in files for hunk in file.hunks]
    added = _sum(squeezed(line.rstrip(b"\n")) for hunk in hunks for line in hunk.added)
    wanted = added - _sum(squeezed(line.rstrip(b"\n")) for hunk in hunks for line in hunk.removed)
    similar = [
        (sha, backwards)
        for sha, change in _changes(histories, scan)
        for backwards in (False, True)
        if change == (-wanted if backwards else wanted)
    ]
    paths = sorted({path for file in files for path in file.paths})
    own = {patch_id for patch_id, _ in _patch_ids(place, b"".join(file.raw for file in files))}
    for backwards, rule in ((False, "patch-id"), (True, "reverse-patch-id")):
        commits = [sha for sha, way in similar if way is backwards]
        for patch_id, sha in _patch_ids(place, _patches(place, commits, paths, backwards=backwards)):
            if patch_id in own:
                return FoundFix(rule=rule, commit=CommitSha(sha), path=path_text(paths[0]))
    return None


def _changes(histories: Sequence[Sequence[Version]], scan: _Scan) -> Iterator[tuple[CommitSha, int]]:
    """Yield commits that change every file, and the sum of what they change.

    The sum is over the hashes of lines, so it says cheaply which commits can't have the patch id.
    """
    sums = {**scan.sums, NO_BLOB: 0}
    changes: dict[CommitSha, dict[int, int]] = {}
    for number, history in enumerate(histories):
        for version in history:
            if not version.merge and version.old in sums and version.new in sums:
                change = changes.setdefault(version.commit, {})
                change[number] = change.get(number, 0) + sums[version.new] - sums[version.old]
    for sha, change in changes.items():
        if len(change) == len(histories):
            yield sha, sum(change.values())


def _patches(place: Place, commits: Sequence[CommitSha], paths: Sequence[bytes], *, backwards: bool) -> bytes:
    if not commits:
        return b""
    # `-R` also swaps the prefixes.
    turned = ["-R", "--src-prefix=b/", "--dst-prefix=a/"] if backwards else []
    command = ["diff-tree", "--stdin", "--root", "-r", *DIFF_OPTIONS, *turned]
    with object_errors():
        return run_git([*command, "--", *paths], place, stdin="\n".join(commits).encode("ascii") + b"\n")


def _patch_ids(place: Place, patches: bytes) -> list[tuple[str, str]]:
    """Return pairs of patch id and commit; the commit of a patch that names none is zeros."""
    output = run_git(["patch-id", "--stable"], place, stdin=patches) if patches else b""
    return [(patch_id, sha) for patch_id, sha in map(str.split, output.decode("ascii").splitlines())]

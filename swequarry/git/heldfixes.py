"""Which commits already hold which fixes: what a world at one commit tells about tasks of other commits.

Two rules, the first that holds is told:

- *ancestor*: the commit with which the fix was merged is the base or an ancestor of it. That the lines may
  have gone again since then excuses nothing: history stays in a world.
- *lines*: more than half of the fix's distinctive lines (see `fixlines`) stand in the files of the base or
  are added by the holder's own fix. So copies are found: cherry-picks, backports, merges nobody knows of.
  Short lines count in files of the same path. The caller drops lines that the fix's own base has.

What this can't see: the fix in other words, in documentation, or in blobs that a partial mirror lacks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from swequarry.git.fixlines import FixLines, LineFinder, is_code
from swequarry.git.repository import Repository
from swequarry.git.run import Place
from swequarry.git.store import TreeEntry, list_files, object_reader, store_view
from swequarry.records import CommitSha


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A fix that may not be held: its task, the commit that merged it where one is known, its lines."""

    key: str
    merge: CommitSha | None
    lines: FixLines


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A base that may hold fixes of others; `own` are the squeezed lines that its own fix adds."""

    key: str
    base: CommitSha
    own: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFix:
    """A base that holds a fix, by which rule, and what shows it."""

    holder: str
    fix: str
    rule: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFixes:
    """What a search found, by holder and fix; `unread` counts files whose content the store lacks."""

    found: tuple[HeldFix, ...] = ()
    unread: int = 0


def find_held_fixes(repository: Repository, holders: Sequence[Holder], fixes: Sequence[Fix]) -> HeldFixes:
    """Return which of some bases of a repository hold which fixes; a task's own fix is passed over.

    Costs one walk over the ancestors of all bases, and one look at each blob that some base names.

    Raises:
        GitError: a base isn't in the repository, or its history can't be read.
    """
    if not holders or not fixes:
        return HeldFixes()
    found = {(held.holder, held.fix): held for held in _by_ancestry(repository, holders, fixes)}
    wanted = frozenset().union(*(fix.lines.lines for fix in fixes))
    with store_view(repository.objects) as place, object_reader(place) as reader:
        finder = LineFinder(reader, wanted)
        for holder in holders:
            others = [fix for fix in fixes if fix.key != holder.key and (holder.key, fix.key) not in found]
            for held in _by_lines(place, finder, holder, others):
                found[held.holder, held.fix] = held
    return HeldFixes(found=tuple(found[pair] for pair in sorted(found)), unread=len(finder.unread))


def _by_ancestry(
    repository: Repository, holders: Sequence[Holder], fixes: Sequence[Fix]
) -> Iterator[HeldFix]:
    held = _merged_before(repository, [holder.base for holder in holders], [fix.merge for fix in fixes])
    for holder in holders:
        for fix in fixes:
            if fix.merge is not None and fix.merge in held[holder.base] and fix.key != holder.key:
                evidence = (
                    f"commit {fix.merge}, which merged the fix, is in the history of base {holder.base}"
                )
                yield HeldFix(holder=holder.key, fix=fix.key, rule="ancestor", evidence=evidence)


def _merged_before(
    repository: Repository, bases: Sequence[CommitSha], merges: Sequence[CommitSha | None]
) -> Mapping[CommitSha, frozenset[CommitSha]]:
    """Return for each base which of some commits are itself or its ancestors."""
    named = sorted({merge for merge in merges if merge is not None})
    bits = {merge: 1 << number for number, merge in enumerate(named)}
    asked = "".join(f"{base}\n" for base in sorted(set(bases))).encode("ascii")
    argv = ["rev-list", "--topo-order", "--reverse", "--parents", "--stdin"]
    seen: dict[str, int] = {}
    for line in repository.git(argv, stdin=asked).decode("ascii").splitlines():
        commit, *parents = line.split()
        mask = bits.get(CommitSha(commit), 0)
        for parent in parents:
            mask |= seen.get(parent, 0)
        seen[commit] = mask
    return {base: frozenset(merge for merge, bit in bits.items() if seen[base] & bit) for base in bases}


def _by_lines(place: Place, finder: LineFinder, holder: Holder, fixes: Sequence[Fix]) -> Iterator[HeldFix]:
    wanting = [fix for fix in fixes if fix.lines.lines]
    if not wanting:
        return
    entries = code_entries(place, holder.base)
    by_path = {entry.path: finder.of(entry.sha) for entry in entries}
    anywhere = frozenset().union(*by_path.values())
    for fix in wanting:
        short = (by_path.get(path, frozenset()) for path in fix.lines.paths)
        there = fix.lines.lines & (anywhere if fix.lines.long else frozenset().union(*short))
        own = fix.lines.lines & holder.own
        if 2 * len(there | own) > len(fix.lines.lines):
            counts = f"{len(there | own)} of {len(fix.lines.lines)} distinctive lines of the fix"
            where = f"{len(there)} at base {holder.base}, {len(own)} in its own fix"
            yield HeldFix(holder=holder.key, fix=fix.key, rule="lines", evidence=f"{counts}: {where}")


def code_entries(place: Place, tree: str) -> list[TreeEntry]:
    """Return the files of a commit or tree that aren't documentation.

    Raises:
        ObjectMissingError: the tree isn't in the store.
    """
    return [entry for entry in list_files(place, tree) if entry.kind == "blob" and is_code(entry.path)]


def root_commits(repository: Repository, bases: Sequence[CommitSha]) -> frozenset[CommitSha]:
    """Return the commits without parents below some commits: forks and renamed repositories share them.

    Raises:
        GitError: a base isn't in the repository.
    """
    asked = "".join(f"{base}\n" for base in sorted(set(bases))).encode("ascii")
    found = repository.git(["rev-list", "--max-parents=0", "--stdin"], stdin=asked)
    return frozenset(CommitSha(line) for line in found.decode("ascii").split())

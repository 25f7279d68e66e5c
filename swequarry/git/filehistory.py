"""What some files of a commit were in its ancestors: every version, under every name that git can follow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swequarry.errors import ObjectMissingError
from swequarry.git.run import Place, run_git
from swequarry.git.store import object_errors
from swequarry.records import CommitSha

NO_BLOB = "0" * 40
_HOPS = 4
"""How often a file's former name is looked for."""
_LOG = (
    "log",
    # Else git leaves out side branches whose changes the merge didn't take: a fix that was taken back there.
    "--full-history",
    "--diff-merges=separate",
    "--root",
    "--raw",
    "-z",
    "--no-renames",
    "--no-abbrev",
    "--format=%H %P",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One file as a commit made it; `old` and `new` are blobs, zeros where there is no file."""

    commit: CommitSha
    merge: bool
    path: bytes
    old: str
    new: str


def file_histories(
    place: Place, base: CommitSha, files: Iterable[Sequence[bytes]]
) -> tuple[tuple[Version, ...], ...]:
    """Return the versions of files in a commit and its ancestors, newest first within each name.

    Each file is given by its names. Costs one walk over all commits, and one more for each generation of
    former names, which are those that git's rename detection gives where a name appears.

    Raises:
        ObjectMissingError: a commit or a tree isn't in the store.
    """
    names = [dict.fromkeys(known) for known in files]
    versions: dict[bytes, list[Version]] = {}
    for _ in range(_HOPS):
        wanted = {name for known in names for name in known} - versions.keys()
        if not wanted:
            break
        versions |= {name: [] for name in wanted}
        walked = _walk(place, base, sorted(wanted))
        for version in walked:
            versions[version.path].append(version)
        for new, old in _former_names(place, [v for v in walked if v.old == NO_BLOB and not v.merge]):
            for known in names:
                if new in known:
                    known[old] = None
    return tuple(tuple(v for name in known for v in versions.get(name, ())) for known in names)


def _walk(place: Place, base: CommitSha, names: Sequence[bytes]) -> list[Version]:
    with object_errors():
        output = run_git([*_LOG, base, "--", *names], place)
    found = []
    commit, merge = CommitSha(""), False
    fields = iter(output.split(b"\0"))
    for text in (part.lstrip(b"\n") for part in fields):
        if text.startswith(b":"):
            old_mode, _, old, new, _ = text.decode("ascii")[1:].split(" ")
            old = NO_BLOB if old_mode == "000000" else old
            found.append(Version(commit=commit, merge=merge, path=next(fields), old=old, new=new))
        elif text:
            sha, *parents = text.decode("ascii").split()
            commit, merge = CommitSha(sha), len(parents) > 1
    return found


def _former_names(place: Place, added: Sequence[Version]) -> list[tuple[bytes, bytes]]:
    """Return pairs of a new name and the name that a commit moved there."""
    commits = "".join(f"{sha}\n" for sha in dict.fromkeys(v.commit for v in added)).encode("ascii")
    command = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-commit-id", "--diff-filter=R", "-l1000"]
    try:
        with object_errors():
            output = run_git([*command, "--find-renames=50%"], place, stdin=commits)
    except ObjectMissingError:  # a partial mirror: ids alone tell of files that moved unchanged
        output = run_git([*command, "--find-renames=100%"], place, stdin=commits)
    fields = output.split(b"\0")[:-1]
    names = {version.path for version in added}
    moves = zip(fields[1::3], fields[2::3], strict=True)
    return [(new, old) for old, new in moves if new in names]

"""Which tags a snapshot keeps: those of the base commit's own past, as they were on its day.

Versions are read from tags (setuptools-scm and kin), so tags of ancestors stay. A tag object that was
written after the base commit may tell of what came later, so its name stays as a lightweight tag and its
text goes: `git describe` then answers as it did on that day, `git describe --tags` as today. Where the
history was cut off before the nearest tag, that tag moves to the base (`with_version_tag`).
"""

import re
from dataclasses import dataclass

from swequarry.errors import ObjectMissingError
from swequarry.git.closure import Closure
from swequarry.git.repository import Repository
from swequarry.git.run import run_git
from swequarry.git.store import ObjectReader
from swequarry.records import CommitSha

_TAGGER_TIME = re.compile(rb"^tagger .*> (-?\d+) [+-]\d+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A tag to keep: full ref name, the commit, and the tag objects from the ref to the commit."""

    name: bytes
    commit: bytes
    objects: tuple[bytes, ...] = ()


def kept_tags(repository: Repository, closure: Closure, base: str) -> tuple[Tag, ...]:
    """Return the tags whose commit is in the closure, by name.

    Raises:
        GitError: the refs can't be read.
    """
    latest = repository.commit_time(base).timestamp()
    listing = run_git(["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"], repository.place)
    named = [line.split(b" ", 1) for line in listing.split(b"\n")[:-1]]
    tags = []
    with repository.reader() as reader:
        for sha, name in named:
            chain, target, written = peel(reader, sha)
            if target in closure.nodes:
                objects = chain if written <= latest else ()
                tags.append(Tag(name=name, commit=target, objects=objects))
    return tuple(sorted(tags, key=lambda tag: tag.name))


def with_version_tag(repository: Repository, base: CommitSha, tags: tuple[Tag, ...]) -> tuple[Tag, ...]:
    """Return the tags of a history that was cut off, with one more where none of them names a version.

    That is the nearest tag of the base's past that has a digit, moved to the base itself. Without it, a
    version that is read from tags would be that of a project which was never released.

    Raises:
        GitError: the history can't be read.
    """
    if any(re.search(rb"/.*\d", tag.name.removeprefix(b"refs/tags")) for tag in tags):
        return tags
    describe = ["describe", "--tags", "--abbrev=0", "--match=*[0-9]*", base]
    name = b"refs/tags/" + run_git(describe, repository.place, allowed=(0, 128)).strip()
    known = run_git(["rev-parse", "--verify", "--quiet", name], repository.place, allowed=(0, 1, 128))
    moved = (Tag(name=name, commit=base.encode("ascii")),) if known else ()
    return tuple(sorted((*tags, *moved), key=lambda tag: tag.name))


def peel(reader: ObjectReader, sha: bytes) -> tuple[tuple[bytes, ...], bytes, float]:
    """Return the tag objects, the commit (empty if it is none), and when the latest of them was written."""
    chain: list[bytes] = []
    written = 0.0
    while True:
        try:
            kind, data = reader.read(sha.decode("ascii"))
        except ObjectMissingError:
            return (), b"", written
        if kind != "tag":
            return tuple(chain), sha if kind == "commit" else b"", written
        chain.append(sha)
        time = _TAGGER_TIME.search(data.partition(b"\n\n")[0])
        written = max(written, float(time[1]) if time else 0.0)
        sha = data[len(b"object ") :].partition(b"\n")[0]


def packed_refs(tags: tuple[Tag, ...]) -> bytes:
    """Return the text of a `packed-refs` file that holds tags, in the format of git's own."""
    lines = [b"# pack-refs with: peeled fully-peeled sorted \n"]
    for tag in tags:
        lines.append(b"%s %s\n" % (tag.objects[0] if tag.objects else tag.commit, tag.name))
        if tag.objects:
            lines.append(b"^%s\n" % tag.commit)
    return b"".join(lines)

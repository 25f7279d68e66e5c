"""Which tags a snapshot keeps: those of the base commit's own past, as they were on its day.

Versions are read from tags (setuptools-scm and kin), so tags of ancestors stay. A tag object that was
written after the base commit may tell of what came later, so its name stays as a lightweight tag and its
text goes: `git describe` then answers as it did on that day, `git describe --tags` as today.
"""

import re
from dataclasses import dataclass

from swequarry.errors import ObjectMissingError
from swequarry.git.closure import Closure
from swequarry.git.repository import Repository
from swequarry.git.run import run_git
from swequarry.git.store import ObjectReader

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

"""The licence of a repository at a commit, told from the files of its tree and never from the network.

Every licence file at the root (and in `LICENSES/`) is identified by its text. One file with one licence is
that licence; files named after their licence (LICENSE-MIT beside LICENSE-APACHE) offer a choice, all else
applies together. A file that can't be identified makes the answer unknown, and unknown isn't permissive.
"""

import re
from functools import cache
from typing import Any

from license_expression import ExpressionError, get_spdx_licensing
from licenseclassifier import identify_license

from swequarry.errors import GitError
from swequarry.git.paths import path_text
from swequarry.git.repository import Repository, TreeEntry, parse_tree_entries
from swequarry.records import Licence, TreeSha

_FILE = re.compile(rb"(?:licen[cs]es?|copying|unlicen[cs]e|mit-licen[cs]e)(?:[-_. ][^/]*)?", re.IGNORECASE)
_NAMED_AFTER_LICENCE = re.compile(rb"licen[cs]e[-_.](?!(?:txt|md|rst|rest)$)[a-z0-9][^/]*", re.IGNORECASE)
_FOLDER = b"LICENSES/"
_MAX_BYTES = 1_000_000
_MAX_FILES = 20


@cache
def spdx_table() -> Any:
    """Return the table of SPDX ids; making it takes a tenth of a second, and each call would make it anew."""
    return get_spdx_licensing()


def spdx_of_text(text: str) -> tuple[str, ...]:
    """Return the SPDX ids found in a licence file, each once, in order; empty where it is none of them."""
    return tuple(dict.fromkeys(found.id for found in identify_license(text)))


class LicenceReader:
    """Reads licences of one repository; remembers texts, since most commits share them."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._by_blob: dict[str, tuple[str, ...]] = {}
        self._by_files: dict[tuple[TreeEntry, ...], Licence] = {}

    def at(self, tree: TreeSha) -> Licence:
        """Return the licence at a tree, with what it rests on. Whatever goes wrong is told, never raised."""
        try:
            files = self._licence_files(tree)
            if files not in self._by_files:
                self._by_files[files] = self._judge(files)
            return self._by_files[files]
        except GitError as error:
            return Licence(evidence=f"can't be read: {error}")

    def blobs_at(self, tree: TreeSha) -> tuple[str, ...]:
        """Return the ids of the licence files of a tree; none where it can't be read."""
        try:
            return tuple(entry.sha for entry in self._licence_files(tree))
        except GitError:
            return ()

    def _licence_files(self, tree: TreeSha) -> tuple[TreeEntry, ...]:
        listing = self._repository.git(["ls-tree", "-z", tree])
        found = [e for e in parse_tree_entries(listing) if e.kind == "blob" and _FILE.fullmatch(e.path)]
        if b"\t" + _FOLDER.rstrip(b"/") + b"\0" in listing:
            below = self._repository.git(["ls-tree", "-z", tree, "--", _FOLDER])
            found += [entry for entry in parse_tree_entries(below) if entry.kind == "blob"]
        return tuple(found[:_MAX_FILES])

    def _ids(self, sha: str) -> tuple[str, ...]:
        if sha not in self._by_blob:
            data = self._repository.read_blob(sha)[:_MAX_BYTES]
            self._by_blob[sha] = spdx_of_text(data.decode("utf-8", "replace"))
        return self._by_blob[sha]

    def _judge(self, files: tuple[TreeEntry, ...]) -> Licence:
        if not files:
            return Licence(evidence="no licence file at the root")
        found = [(entry, self._ids(entry.sha)) for entry in files]
        evidence = "; ".join(
            f"{path_text(entry.path)}: {', '.join(ids) or 'not identified'}" for entry, ids in found
        )
        return Licence(
            spdx=_expression(found), files=tuple(path_text(entry.path) for entry in files), evidence=evidence
        )


def _expression(found: list[tuple[TreeEntry, tuple[str, ...]]]) -> str | None:
    if not all(ids for _, ids in found):
        return None
    parts = [" AND ".join(ids) for _, ids in found]
    choice = len(found) > 1 and all(_NAMED_AFTER_LICENCE.fullmatch(entry.path) for entry, _ in found)
    joined = (" OR " if choice else " AND ").join(f"({part})" for part in dict.fromkeys(parts))
    try:
        return str(spdx_table().parse(joined, validate=True).simplify())
    except ExpressionError:
        return None

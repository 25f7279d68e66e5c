"""What writers and the prover know of a base tree: its names, its modules, where its tests lie."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from swequarry.git.testpaths import is_test_module
from testwriter.interface import Subject

_WORD = re.compile(rb"[^\W\d]\w*")


def names_in(sources: Iterable[bytes]) -> frozenset[str]:
    """Return every word of some sources that could be an identifier; also those of texts and comments."""
    found: set[bytes] = set()
    for source in sources:
        found.update(_WORD.findall(source))
    return frozenset(word.decode("utf-8", "replace") for word in found)


def folder_for_tests(paths: Sequence[str], first: Sequence[str] = ()) -> str:
    """Return where a new test file belongs: beside one of `first`, else where most test modules lie."""
    own = [path for path in first if path.endswith(".py")]
    known = own or [path for path in paths if is_test_module(path.encode())]
    counted = Counter(path.rpartition("/")[0] for path in known)
    return min(counted, key=lambda folder: (-counted[folder], len(folder), folder)) if counted else "tests"


def new_path(subject: Subject, stem: str) -> str:
    """Return a path for a new test module in a subject's folder, of a name that no other file there has."""
    plain = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_") or "written"
    names = {path.rpartition("/")[2] for path in subject.paths}
    number = 0
    while True:
        name = f"test_{plain}{f'_{number}' if number else ''}.py"
        if name not in names:
            return f"{subject.folder}/{name}" if subject.folder else name
        number += 1

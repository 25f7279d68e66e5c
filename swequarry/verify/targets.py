"""Choose the test files to run: those that the test patch touches and that define tests."""

import os
import re
from collections.abc import Sequence

from swequarry.delta import TreeDelta
from swequarry.git.paths import unquote_path
from swequarry.git.testpaths import is_test_module

_LINK = 0o120000
_SUPPORT = frozenset({b"conftest.py", b"__init__.py", b"setup.py"})
_DATA_FOLDERS = frozenset(
    {b"testdata", b"test_data", b"test-data", b"fixtures", b"fixture", b"resources", b"example_scripts"}
)
_MAYBE_DATA_FOLDERS = frozenset({b"data", b"input", b"samples"})
_TEST_NAME = re.compile(rb"tests?_.*\.py|.*_tests?\.py|tests?\.py|.*Tests?\.py")
_TEST_CODE = re.compile(
    rb"^[ \t]*(?:async[ \t]+)?def[ \t]+test|^[ \t]*class[ \t]+(?:Test|\w+Tests?\b)|\bTestCase\b", re.MULTILINE
)
"""What a file with tests holds under any configuration that we have met; it's text, not parsed, because the
file may be written for another Python than ours."""


def select_targets(test_files: Sequence[str], before: TreeDelta) -> tuple[str, ...]:
    """Return the files to hand to the test runner, relative to /testbed, sorted.

    `test_files` are the paths of the test patch, `before` the delta that puts the patch in place: a file
    that it doesn't write was deleted. Support files, data and files without tests are left out; a
    file's name needn't be `test_*.py`.
    """
    chosen = set()
    for name in test_files:
        path = path_bytes(name)
        content = before.files.get(path)
        if content is not None and content.mode != _LINK and _holds_tests(path, content.data):
            chosen.add(os.fsdecode(path))
    return tuple(sorted(chosen))


def holds_tests(path: bytes, data: bytes) -> bool:
    """Whether a file that the pull request doesn't touch is of the suite, by its place and its content."""
    return is_test_module(path) and _TEST_CODE.search(data) is not None and _holds_tests(path, data)


def path_bytes(name: str) -> bytes:
    """Return the bytes of a path as records name it: UTF-8 text, or C-quoted where it isn't UTF-8."""
    return unquote_path(name.encode())[0] if name.startswith('"') else name.encode()


def _holds_tests(path: bytes, data: bytes) -> bool:
    *folders, name = path.split(b"/")
    if not name.endswith(b".py") or name in _SUPPORT:
        return False
    if _DATA_FOLDERS.intersection(folder.lower() for folder in folders):
        return False
    named = _TEST_NAME.fullmatch(name) is not None
    defines = _TEST_CODE.search(data) is not None
    if _MAYBE_DATA_FOLDERS.intersection(folders):
        return named and defines
    return named or defines

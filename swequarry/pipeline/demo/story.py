"""What happens in the example repository, pull request by pull request.

Each `Pull` is a set of edits, the way it was merged, and the end that the line must give it. Hashes are fixed,
because `build` takes names, dates and bytes from here and nothing from the machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from swequarry.outcome import RejectCode
from swequarry.records import MergeKind

Edits = Mapping[str, bytes | None]
"""Path -> whole new content, or None for a removed file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """How a pull request must end: accepted with these FAIL_TO_PASS tests, or rejected with a code.

    `quarantined` is what the ids of its unstable tests start with: which of them show it depends on the
    interpreter's hash function. `reason` is why each of them is, where that has to be told. `fail_to_pass` are
    the pull request's own tests; one that has none is `written`: judged by tests that were derived.
    """

    code: RejectCode | None = None
    fail_to_pass: tuple[str, ...] = ()
    quarantined: str = ""
    reason: str = ""
    written: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """One merged pull request; `edits` holds one mapping per commit, oldest first."""

    number: int
    title: str
    kind: MergeKind
    edits: tuple[Edits, ...]
    expected: Expected
    body: str = ""
    messages: tuple[str, ...] = ()
    reverts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue of the example repository."""

    number: int
    title: str
    body: str = field(default="")


PYPROJECT = b"""\
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "tally-demo"
version = "1.0.0"
description = "Small helpers for amounts, tables and labels"
requires-python = ">=3.8"
license = { text = "MIT" }
dependencies = []

[project.optional-dependencies]
test = ["pytest"]

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

LICENSE = b"""\
MIT License

Copyright (c) 2024 The tally authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""

AMOUNTS = b'''\
"""Amounts of money in whole cents."""


def parse_amount(text):
    """Return the cents in a text such as `12.50`."""
    whole, _, cents = text.strip().partition(".")
    return int(whole) * 100 + int(cents or 0)


def share(total, people):
    """Split cents among people; the first ones get the odd cents."""
    each = total // people
    return [each] * people


def percent(part, total):
    """Return a rounded percentage."""
    return int(part * 100 / total)
'''

TABLE = b'''\
"""Plain text tables."""


def widths(rows):
    """Return the width of each column."""
    return [max(len(cell) for cell in column) for column in zip(*rows)]


def render(rows):
    """Return the rows as lines with aligned columns."""
    sizes = widths(rows)
    return "\\n".join(
        "  ".join(cell.ljust(size) for cell, size in zip(row, sizes)) for row in rows
    )
'''

LABELS = b'''\
"""Labels made from free text."""


def slug(text):
    """Return a label in lower case with dashes."""
    return text.lower().replace(" ", "-")


def shorten(text, size):
    """Cut a text to a size."""
    return text[:size]


def tags(text):
    """Return the words that start with `#`, each once."""
    return list({word for word in text.split() if word.startswith("#")})
'''

WINDOWS = b'"""Reads price lists that come from Windows."""\r\n\r\n\r\ndef lines(text):\r\n    """Return the lines."""\r\n    return text.split("\\n")\r\n'

STORE = b'''\
"""Tally files: the bytes TLY, a version byte, then one byte per count."""


def read_counts(data):
    """Return the counts of a tally file."""
    if data[:3] != b"TLY":
        raise ValueError("not a tally file")
    return list(data[3:])
'''

REMOTE = b'''\
"""Looks up where exchange rates are served."""

import socket


def rate_host(name):
    """Return the address of a rate server."""
    return socket.gethostbyname(name + ".rates")
'''

START: dict[str, bytes] = {
    "pyproject.toml": PYPROJECT,
    "LICENSE": LICENSE,
    "README.md": b"# tally\n\nSmall helpers for amounts, tables and labels.\n",
    ".gitattributes": b"* -text\n",
    "src/tally/__init__.py": b'"""Small helpers for amounts, tables and labels."""\n',
    "src/tally/amounts.py": AMOUNTS,
    "src/tally/table.py": TABLE,
    "src/tally/labels.py": LABELS,
    "src/tally/windows.py": WINDOWS,
    "src/tally/store.py": STORE,
    "src/tally/remote.py": REMOTE,
    "tests/test_amounts.py": b"from tally.amounts import parse_amount, percent, share\n\n\n"
    b'def test_parse_amount():\n    assert parse_amount("12.50") == 1250\n\n\n'
    b"def test_share_even():\n    assert share(300, 3) == [100, 100, 100]\n\n\n"
    b"def test_percent():\n    assert percent(1, 2) == 50\n",
    "tests/test_table.py": b"from tally.table import render\n\n\n"
    b'def test_render():\n    assert render([["a", "b"], ["c", "d"]]) == "a  b\\nc  d"\n',
    "tests/test_words.py": b"from tally.labels import shorten, slug\n\n\n"
    b'def test_slug():\n    assert slug("Two Words") == "two-words"\n\n\n'
    b'def test_shorten():\n    assert shorten("abcdef", 3) == "abc"\n',
    "tests/test_store.py": b"import pathlib\n\nfrom tally.store import read_counts\n\n"
    b'DATA = pathlib.Path(__file__).parent / "data"\n\n\n'
    b'def test_reads_sample():\n    counts = read_counts((DATA / "sample.tly").read_bytes())\n    assert counts[-2:] == [2, 250]\n',
    "tests/data/sample.tly": b"TLY\x01\x02\xfa",
}

"""Paths as git writes them: bytes, C-quoted where a text format can't carry them raw.

The quoting is that of `quote.c` in git: a double-quoted string with C escapes and three-digit octal
escapes, each for one byte. Bytes are decoded as UTF-8 once, over the whole path.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from swequarry.errors import PatchError

_NAMED = {7: b"a", 8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
_BY_NAME = {name[0]: bytes((value,)) for value, name in _NAMED.items()}
_MUST_QUOTE = re.compile(rb'[\x00-\x1f\x7f-\xff"\\]')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)


def quote_path(path: bytes) -> bytes:
    """Return a path in double quotes with everything escaped that isn't printable ASCII."""

    def escape(match: re.Match[bytes]) -> bytes:
        value = match[0][0]
        return b"\\" + _NAMED.get(value, b"%03o" % value)

    return b'"' + _MUST_QUOTE.sub(escape, path) + b'"'


def unquote_path(quoted: bytes) -> tuple[bytes, bytes]:
    """Return the path of a quoted string and what follows its closing quote.

    Raises:
        PatchError: the text doesn't begin with a whole quoted string, or holds an unknown escape.
    """
    match = re.match(rb'"((?:[^"\\]|\\.)*)"', quoted, re.DOTALL)
    if match is None:
        raise PatchError(f"a quoted path doesn't end: {quoted[:80]!r}")

    def unescape(escape: re.Match[bytes]) -> bytes:
        text = escape[1]
        if len(text) > 1:
            return bytes((int(text, 8),))
        if text[0] not in _BY_NAME:
            raise PatchError(f"a quoted path holds an unknown escape {escape[0]!r}: {quoted[:80]!r}")
        return _BY_NAME[text[0]]

    return _ESCAPE.sub(unescape, match[1]), quoted[match.end() :]


def path_text(path: bytes) -> str:
    """Return a path as records name it: its UTF-8 text, else git's quoted form; `path_bytes` undoes it."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return quote_path(path).decode("ascii")
    return quote_path(path).decode("ascii") if text.startswith('"') else text


def path_bytes(text: str) -> bytes:
    """Return the bytes of a path that `path_text` wrote.

    Raises:
        PatchError: a text that begins with a double quote isn't a quoted path.
    """
    if not text.startswith('"'):
        return text.encode("utf-8")
    path, rest = unquote_path(text.encode("utf-8"))
    if rest:
        raise PatchError(f"text follows a quoted path: {text[:80]!r}")
    return path


def on_disk(root: Path, path: bytes) -> Path:
    """Return where a path of git lies below a folder."""
    return root / os.fsdecode(path)


def entries_below(root: Path) -> Iterator[tuple[bytes, Path]]:
    """Yield every entry below a folder, relative and whole; links aren't followed, content comes first."""
    for folder, names, files in os.walk(root, topdown=False):
        for name in [*files, *names]:
            path = Path(folder, name)
            yield os.fsencode(path.relative_to(root)), path

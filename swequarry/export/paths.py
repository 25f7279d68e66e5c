"""Paths of records back to bytes."""

import re

_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_QUOTED = re.compile(rb'"(.*)"', re.DOTALL)
_LETTERS = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return _LETTERS.get(code) or bytes([int(code, 8) & 0xFF])


def path_bytes(path: str) -> bytes:
    """Return the bytes of a path as records hold it: UTF-8, or git's C-quoted form."""
    raw = path.encode("utf-8")
    quoted = _QUOTED.fullmatch(raw)
    return _ESCAPE.sub(_unescape, quoted.group(1)) if quoted else raw

"""The texts that a file holds: itself, what archives and encodings in it hold, the strings of byte code.

Everything here is foreign and may be hostile: nothing is executed or unmarshalled, every size is bounded, and
what can't be read is told, never guessed.
"""

import base64
import binascii
import bz2
import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST = 64 << 20
"""Bytes of a file or member that are looked at; what is larger is told as not scanned."""
_DEEPEST = 3
_MEMBERS = 50_000
_TOTAL = 1 << 30
_MEMORY = 1 << 28
"""Bytes that unpacking xz may need: a header can ask for 4 GiB."""
_BASE64 = re.compile(
    rb"(?<![A-Za-z0-9+/_\-])(?:[A-Za-z0-9+/_\-]{120,}={0,2}"
    rb"|(?:[A-Za-z0-9+/]{60,76}(?:\\n)?[\"']?[ \t,+\\]*\r?\n[ \t]*[bru]?[\"']?){2,}[A-Za-z0-9+/]*={0,2})"
)
"""In one run, or in lines, which may be indented or texts of their own."""
_BETWEEN = re.compile(rb"(?:\\n)?[\"']?[ \t,+\\]*\r?\n[ \t]*(?:[bru]?[\"'])?")
_TEXTS_IN_LINES = re.compile(rb"\\n[\"'],?[ \t\\+]*\r?\n[ \t]*[bru]?[\"']")
_TO_ONE = bytes(
    97 if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "+/_-") else 32 for byte in range(256)
)
_END = 65_557
"""Bytes from whose start on the end record of a zip archive begins (APPNOTE.TXT, 4.3.16)."""
_OFFSET_DELTA, _REF_DELTA = 6, 7
_PIECE = 1 << 14
_RUN = b"a" * 60
"""What a text has, all characters of base64 made one, where a look for base64 is worth its time."""
_HUNK = rb"(?:@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|>)"
_DIFF_AT_START, _DIFF_BELOW = re.compile(_HUNK), re.compile(rb"\n" + _HUNK)
"""The second begins with a byte, so that `re` looks for that first: five times as fast as `^`."""
_MARKED = re.compile(rb"^[-+> ](?!\+\+ |-- )", re.MULTILINE)
_SHORTEST = 4
_SHORT_MARKS = bytes(byte in b"zZ\xfa\xda" for byte in range(256))
_LONG_MARKS = bytes(byte in b"aAusSRt\xe1\xc1\xf5\xf3\xf4" for byte in range(256))
_CONTROL = bytes((byte < 32 and byte not in b"\t\n\r\f") or byte == 127 for byte in range(256))  # noqa: PLR2004
_NUL_TO_LF = b"\n" + bytes(range(1, 256))
_BROKEN = (
    OSError,
    EOFError,
    ValueError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    NotImplementedError,
    RuntimeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    TypeError,
    struct.error,
)
"""What the readers of archives raise on damaged, encrypted or unknown ones."""


@dataclass(frozen=True, slots=True)
class View:
    """A text of a file; `path` names the member after `!`. `data` is None for what wasn't looked at."""

    path: str
    data: bytes | None
    is_code: bool = False


class _Budget:
    """What may still be unpacked of one file, all members of all depths together."""

    def __init__(self) -> None:
        self.size_bytes = _TOTAL
        self.members = _MEMBERS

    def takes(self, size_bytes: int) -> bool:
        """Whether one more member fits; counts it."""
        self.size_bytes -= size_bytes
        self.members -= 1
        return self.size_bytes >= 0 and self.members >= 0


def views_of(path: str, data: bytes) -> Iterator[View]:
    """Yield the texts of a file; never raises, whatever the bytes."""
    yield from _views(path, data, 0, _Budget())


def _views(path: str, data: bytes, depth: int, budget: _Budget) -> Iterator[View]:
    if len(data) > LARGEST:
        yield View(path, None)
        return
    if path.endswith((".pyc", ".pyo")) or _is_byte_code(data):
        yield View(path, b"\n".join(code_strings(data)), is_code=True)
        return
    members = _members(path, data)
    if members is not None and depth == _DEEPEST:
        yield View(path, None)
    elif members is not None and (yield from _unpacked(path, members, depth, budget)):
        return
    yield from _texts(path, data, depth, budget)


def _is_byte_code(data: bytes) -> bool:
    """Whether bytes begin as byte code of Python 3 does (`MAGIC_NUMBER` in importlib's source)."""
    return data[2:4] == b"\r\n" and data[1:2] in (b"\x0c", b"\r", b"\x0e") and b"\0" in data[4:16]


def _texts(path: str, data: bytes, depth: int, budget: _Budget) -> Iterator[View]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode("utf-8")
    elif data[1:400:2].count(0) * 3 > len(data[1:400:2]) * 2 and not data[:400:2].count(0):
        data = data.decode("utf-16-le", "replace").encode("utf-8")
    if b"\0" in data:
        data = data.translate(_NUL_TO_LF)
    yield View(path, data)
    if _DIFF_AT_START.match(data) or _DIFF_BELOW.search(data):
        yield View(path, _MARKED.sub(b"", data))
    if b"\\" in data and data.count(b"\\n") > 2:  # noqa: PLR2004 - a text inside a string
        joined = _TEXTS_IN_LINES.sub(b"\n", data)
        yield View(path, joined.replace(b"\\n", b"\n").replace(b'\\"', b'"').replace(b"\\t", b"\t"))
    if depth < _DEEPEST:
        for text in _base64_texts(data):
            decoded = _from_base64(text)
            if decoded and budget.takes(len(decoded)):
                yield from _views(f"{path}!base64", decoded, depth + 1, budget)


def _base64_texts(data: bytes) -> Iterator[bytes]:
    """Yield what `_BASE64` finds; it can only begin where a long run of its characters does."""
    plain = data.translate(_TO_ONE)
    at = plain.find(_RUN)
    while at >= 0:
        match = _BASE64.match(data, at)
        if match:
            yield match[0]
        at = plain.find(_RUN, match.end() if match else _end_of_run(plain, at))


def _end_of_run(plain: bytes, at: int) -> int:
    end = plain.find(b" ", at)
    return end if end >= 0 else len(plain)


def _from_base64(text: bytes) -> bytes:
    plain = bytes(_BETWEEN.sub(b"", text).translate(bytes.maketrans(b"-_", b"+/"), b"\r\n=")).rstrip()
    try:
        return base64.b64decode(plain[: len(plain) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _members(path: str, data: bytes) -> Iterator[tuple[str, bytes | None]] | None:
    """Return the members of an archive or what is compressed; None where the bytes are neither."""
    if data.startswith(b"PK\x03\x04") or (b"PK\x05\x06" in data[-_END:] and b"PK\x03\x04" in data):
        return _zip(path, data)
    if data.startswith((b"PACK\0\0\0\2", b"# v2 git bundle", b"# v3 git bundle")):
        return _git_pack(path, data)
    if data[257:262] == b"ustar":
        return _tar(path, data)
    if data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"]\0\0\x80")) or _is_zlib(data):
        return _compressed(path, data)
    return None


def _unpacked(
    path: str, members: Iterator[tuple[str, bytes | None]], depth: int, budget: _Budget
) -> Generator[View, None, bool]:
    """Yield the texts of the members; return whether all could be read."""
    try:
        for name, content in members:
            if not budget.takes(len(content or b"")):
                yield View(path, None)
                return False
            if content is None:
                yield View(name, None)
            else:
                yield from _views(name, content, depth + 1, budget)
    except _BROKEN:
        yield View(path, None)
        return False
    return True


def _zip(path: str, data: bytes) -> Iterator[tuple[str, bytes | None]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            name = f"{path}!{info.filename}"
            with archive.open(info) as member:
                content = member.read(LARGEST + 1)
            yield name, content if len(content) <= LARGEST else None


def _tar(path: str, data: bytes) -> Iterator[tuple[str, bytes | None]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for info in archive:
            member = archive.extractfile(info) if info.isreg() else None
            if member is not None:
                yield f"{path}!{info.name}", member.read() if info.size <= LARGEST else None


def _is_zlib(data: bytes) -> bool:
    """Whether bytes are a stream as of RFC 1950, such as an object of git: two bytes alone are any text."""
    if data[:1] != b"\x78" or int.from_bytes(data[:2], "big") % 31:
        return False
    try:
        return bool(zlib.decompressobj().decompress(data[:4096], 32))
    except zlib.error:
        return False


def _git_pack(path: str, data: bytes) -> Iterator[tuple[str, bytes | None]]:
    """Yield what the objects of a pack or bundle hold; of deltas what they insert (gitformat-pack(5))."""
    at = data.find(b"PACK\0\0\0\2")
    count, at = int.from_bytes(data[at + 8 : at + 12], "big"), at + 12
    for number in range(count):
        kind = data[at] >> 4 & 7
        while data[at] & 0x80:
            at += 1
        at += 1
        if kind == _REF_DELTA:
            at += 20
        elif kind == _OFFSET_DELTA:
            while data[at] & 0x80:
                at += 1
            at += 1
        content, at = _inflated(data, at)
        yield f"{path}!{number}", content


def _inflated(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Return what a stream of deflated bytes holds (None if that is too large), and where it ends."""
    stream, parts, size_bytes = zlib.decompressobj(), [], 0
    while not stream.eof:
        piece = data[at : at + _PIECE]
        if not piece:
            raise EOFError("cut short")
        parts.append(stream.decompress(piece))
        size_bytes += len(parts[-1])
        if size_bytes > LARGEST:
            parts = []
        at += len(piece) - len(stream.unused_data)
    return b"".join(parts) if size_bytes <= LARGEST else None, at


def _compressed(path: str, data: bytes) -> Iterator[tuple[str, bytes | None]]:
    if data.startswith((b"\x1f\x8b", b"BZh")):
        with (gzip if data.startswith(b"\x1f\x8b") else bz2).open(io.BytesIO(data), "rb") as stream:
            content = stream.read(LARGEST + 1)
    elif data.startswith(b"\x78"):
        content = zlib.decompressobj().decompress(data, LARGEST + 1)
    else:
        decompressor = lzma.LZMADecompressor(memlimit=_MEMORY)
        content = decompressor.decompress(data, LARGEST + 1)
        if not decompressor.eof and len(content) <= LARGEST:
            raise EOFError("cut short")
    yield f"{path}!", content if len(content) <= LARGEST else None


def _told(data: bytes, kinds: bytes) -> NDArray[np.bool_]:
    """Return what a table of 256 places says of each byte."""
    return np.frombuffer(data.translate(kinds), dtype=np.bool_)


def code_strings(data: bytes) -> list[bytes]:
    """Return what may be names and strings of byte code of any Python.

    Marshalled strings are a type byte, a length of one or four bytes, the text (Python/marshal.c). Each
    place that looks so is read: too much rather than too little, and no reader of foreign formats to crash.
    """
    array = np.frombuffer(data, dtype=np.uint8)
    odd = np.zeros(len(data) + 1, dtype=np.int32)
    np.cumsum(_told(data, _CONTROL), out=odd[1:])
    found: list[bytes] = []
    for is_mark, width in ((_SHORT_MARKS, 1), (_LONG_MARKS, 4)):
        marks = np.flatnonzero(_told(data, is_mark)[: max(0, len(data) - width)])
        lengths = np.zeros(marks.size, dtype=np.int64)
        for place in range(width):
            lengths |= array[marks + 1 + place].astype(np.int64) << (8 * place)
        starts = marks + 1 + width
        fits = np.flatnonzero((lengths >= _SHORTEST) & (starts + lengths <= len(data)))
        starts, ends = starts[fits], starts[fits] + lengths[fits]
        plain = np.flatnonzero(odd[ends] == odd[starts])
        found += map(data.__getitem__, map(slice, starts[plain].tolist(), ends[plain].tolist()))
    return found

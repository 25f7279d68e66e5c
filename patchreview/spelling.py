"""Lines as they would be written plainly, where a name is imported as another, looked up or put together.

`__import__("os")._exit(0)`, `getattr(os, "_exit")(0)` and, after `import os as o`, `o._exit(0)` all become
`os._exit(0)`, so that a rule needs to know one spelling only.
"""

import re
from collections.abc import Iterator
from functools import cached_property

from patchreview.diff import FileDiff
from patchreview.pieces import CodeLine

_IMPORTED = re.compile(
    rb"(?:\b__import__|\bimportlib\.import_module|\bimport_module)\(\s*[\"']([\w.]+)[\"']\s*\)"
)
_MODULE = re.compile(rb"\bsys\.modules(?:\[\s*[\"']([\w.]+)[\"']\s*\]|\.get\(\s*[\"']([\w.]+)[\"'][^()]*\))")
_LOOKED_UP = re.compile(rb"\bgetattr\(\s*([\w.]+)\s*,\s*[\"'](\w+)[\"']\s*(?:,[^()]*)?\)")
_OF_NAMESPACE = re.compile(rb"(?:\bvars\(\s*([\w.]+)\s*\)|([\w.]+)\.__dict__)\[\s*[\"'](\w+)[\"']\s*\]")
_SETS = re.compile(rb"\b(?:setattr|(?:type|object)\.__setattr__)\(\s*([\w.]+)\s*,\s*[\"'](\w+)[\"']\s*,\s*")
_JOINED = re.compile(rb"[\"']{2}\.join\(\s*[\[(]([^\])]*)[\])]\s*\)")
_BETWEEN = re.compile(rb"[\"']\s*\+?\s*[\"']")
_LIST_BETWEEN = re.compile(rb"[\"']\s*,\s*[\"']")
_TEXT = re.compile(rb"\"[^\"]*\"|'[^']*'")
_INDIRECT = re.compile(rb"import|attr|vars\(|__dict__|modules|\.join\(|[\"']\s*\+?\s*[\"']")
_IMPORT = re.compile(rb"^\s*import\s+(.+)$")
_FROM = re.compile(rb"^\s*from\s+([\w.]+)\s+import\s+\(?(.+?)\)?\s*$")
_NAMED = re.compile(rb"^\s*([\w.]+)(?:\s+as\s+(\w+))?\s*$")


class Spelling:
    """The plain spelling of the added lines of one file."""

    def __init__(self, file: FileDiff) -> None:
        self._file = file

    @cached_property
    def names(self) -> dict[bytes, bytes]:
        """The full name of each name that a visible line imports."""
        return dict(self._imports())

    def _imports(self) -> Iterator[tuple[bytes, bytes]]:
        for piece in self._file.new:
            for line in piece.lines:
                if b"import" not in line:
                    continue
                if found := _FROM.match(line):
                    for name, alias in _parts(found[2]):
                        yield alias or name, found[1] + b"." + name
                elif found := _IMPORT.match(line):
                    for name, alias in _parts(found[1]):
                        yield alias or name.split(b".")[0], name if alias else name.split(b".")[0]

    @cached_property
    def _renamed(self) -> re.Pattern[bytes] | None:
        other = [re.escape(name) for name, full in self.names.items() if name != full]
        return re.compile(rb"(?<![\w.\"'])(?:" + b"|".join(other) + rb")\b(?!\s*=[^=])") if other else None

    def code(self, line: CodeLine) -> bytes:
        """The line without comments, plainly spelled."""
        return self._plain(line.code)

    def bare(self, line: CodeLine) -> bytes:
        """The same without texts in quotes."""
        if not _INDIRECT.search(line.code):
            return self._with_full_names(line.bare)
        return _TEXT.sub(b'""', self.code(line))

    def _plain(self, code: bytes) -> bytes:
        if _INDIRECT.search(code):
            code = _IMPORTED.sub(rb"\1", code)
            code = _MODULE.sub(lambda found: found[1] or found[2], code)
            code = _LOOKED_UP.sub(rb"\1.\2", code)
            code = _OF_NAMESPACE.sub(lambda found: (found[1] or found[2]) + b"." + found[3], code)
            code = _SETS.sub(rb"\1.\2 = ", code)
            code = _JOINED.sub(lambda found: _LIST_BETWEEN.sub(b"", found[1]), code)
            code = _BETWEEN.sub(b"", code) if b"+" in code else code
        return self._with_full_names(code)

    def _with_full_names(self, code: bytes) -> bytes:
        if self._renamed is None or b"import" in code:
            return code
        return self._renamed.sub(lambda found: self.names[found[0]], code)


def _parts(names: bytes) -> Iterator[tuple[bytes, bytes]]:
    for part in names.split(b","):
        if found := _NAMED.match(part):
            yield found[1], found[2] or b""

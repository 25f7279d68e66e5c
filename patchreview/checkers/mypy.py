"""Mypy, where the project uses it: new type errors in the changed files.

It sees the Python files of both trees and no installed package; plugins, which would be code of the project,
are off together with the project's settings.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from patchreview.checkers.sides import Changed, Said, only_new, output_of, program
from patchreview.diff import ReadFile
from patchreview.findings import Finding, Severity
from swequarry.git.paths import path_text

CODE = "types"
MOST_FILES, MOST_BYTES = 4000, 64 << 20
_SETTINGS: Mapping[bytes, re.Pattern[bytes]] = {
    b"mypy.ini": re.compile(rb""),
    b".mypy.ini": re.compile(rb""),
    b"setup.cfg": re.compile(rb"^\[mypy\]", re.MULTILINE),
    b"pyproject.toml": re.compile(rb"^\[tool\.mypy\]", re.MULTILINE),
}
_LINE = re.compile(r"^(.+?):(\d+)(?::\d+)?: error: (.*?)(?:  \[([\w-]+)\])?$", re.MULTILINE)
_OPTIONS = (
    "--config-file=",
    "--cache-dir=/dev/null",
    "--no-site-packages",
    "--ignore-missing-imports",
    "--follow-imports=silent",
    "--explicit-package-bases",
    "--no-error-summary",
    "--no-color-output",
    "--show-error-codes",
    "--hide-error-context",
)


def check(
    files: Sequence[Changed], old: ReadFile, new: ReadFile, paths: tuple[Iterable[bytes], Iterable[bytes]]
) -> Iterator[Finding]:
    """Yield what mypy newly says; nothing where the project doesn't use it or it isn't installed.

    `paths` are those of all files before and after.
    """
    mypy = program("mypy")
    if mypy is None or not files or not any(_uses(old, name) for name in _SETTINGS):
        return
    names = {path_text(file.old_path): file.name for file in files if file.old_path is not None}
    before = _said(mypy, old, paths[0], names)
    after = _said(mypy, new, paths[1], {file.name: file.name for file in files})
    yield from only_new(CODE, before, after)


def _uses(old: ReadFile, name: bytes) -> bool:
    data = old(name)
    return data is not None and _SETTINGS[name].search(data) is not None


def _said(mypy: str, read: ReadFile, paths: Iterable[bytes], names: Mapping[str, str]) -> list[Said] | None:
    """Return the errors in the named files of one side, None where it is too large or mypy gave no answer."""
    python = [path for path in paths if path.endswith((b".py", b".pyi"))]
    if len(python) > MOST_FILES:
        return None
    with TemporaryDirectory(prefix="swequarry-review-") as folder:
        left = MOST_BYTES
        written = set()
        for path in python:
            name, data = path_text(path), read(path)
            if data is None or name.startswith("/") or ".." in PurePosixPath(name).parts:
                continue
            left -= len(data)
            if left < 0:
                return None
            place = Path(folder) / name
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
            except (OSError, ValueError):
                continue
            written.add(name)
        asked = sorted(written & names.keys())
        if not asked:
            return []
        output = output_of([mypy, *_OPTIONS, "--", *asked], folder=Path(folder))
    if output is None:
        return None
    text = output.text.decode("utf-8", "replace")
    if output.status and not _LINE.search(text):
        return None  # it says that something is wrong and not what: it broke
    return [
        Said(name=names[path], kind=kind or "mypy", message=message, line=int(line), severity=Severity.WARN)
        for path, line, message, kind in _LINE.findall(text)
        if path in names
    ]

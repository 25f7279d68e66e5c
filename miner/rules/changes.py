"""Rules about a change: foreign or generated code, and how many lines the fix has."""

import re
from functools import lru_cache

from miner.rules.interface import Subject
from swequarry.config import CurateSettings
from swequarry.errors import PatchError
from swequarry.git.patches import FilePatch, parse_patch
from swequarry.git.paths import path_text
from swequarry.git.testpaths import PathRole, classify_path
from swequarry.outcome import RejectCode, Rejected

_VENDORED = re.compile(
    rb"(?:^|/)(?:_?vendor(?:ed)?|_vendoring|third_?party|3rd_?party|extern(?:al|als)?|node_modules|bundled)/",
    re.IGNORECASE,
)
_GENERATED_NAME = re.compile(
    rb"(?:^|/)(?:[^/]*_pb2(?:_grpc)?\.pyi?|parsetab\.py|lextab\.py|_version\.py|versioneer\.py)$"
)
_GENERATED_TEXT = re.compile(
    rb"(?:auto-?generated|generated (?:by|from|with|using)|do not (?:edit|modify)|don't edit)", re.IGNORECASE
)
_HEAD = 20
"""Lines of a file in which its header says that it was generated."""


def foreign_code(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a change whose sources all are vendored or generated: the fix was made elsewhere."""
    if settings.foreign_code == "keep":
        return None
    sources = [file for file in _files(subject.gold) if classify_path(_path(file)) is PathRole.SOURCE]
    foreign = [file for file in sources if _is_foreign(file)]
    if not sources or len(foreign) < len(sources):
        return None
    paths = tuple(path_text(_path(file)) for file in foreign)
    return Rejected(
        code=RejectCode.FOREIGN_CODE,
        message=f"every changed source is vendored or generated: {paths[0]}",
        evidence=paths,
    )


def large_fix(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a fix that changes more lines of source than the settings allow."""
    if settings.max_gold_lines is None:
        return None
    changed = sum(
        len(hunk.added) + len(hunk.removed)
        for file in _files(subject.gold)
        if classify_path(_path(file)) is PathRole.SOURCE
        for hunk in file.hunks
    )
    if changed <= settings.max_gold_lines:
        return None
    return Rejected(
        code=RejectCode.TOO_LARGE,
        message=f"the fix adds and removes {changed} lines of source, more than {settings.max_gold_lines}",
    )


@lru_cache(maxsize=2)
def _files(patch: bytes) -> tuple[FilePatch, ...]:
    try:
        return parse_patch(patch)
    except PatchError:
        return ()  # made by git from trees: what our reader doesn't know, no rule speaks of


def _path(file: FilePatch) -> bytes:
    return file.new_path or file.old_path or b""


def _is_foreign(file: FilePatch) -> bool:
    path = _path(file)
    if _VENDORED.search(path) or _GENERATED_NAME.search(path):
        return True
    heads = [line for hunk in file.hunks if hunk.new_start <= _HEAD for line in hunk.lines[:_HEAD]]
    return any(
        line.lstrip(b"+- ").startswith((b"#", b'"""')) and _GENERATED_TEXT.search(line) for line in heads
    )

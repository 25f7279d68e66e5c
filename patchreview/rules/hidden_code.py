"""Code and addresses that a patch keeps from being read."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.nearby import nearby
from patchreview.pieces import CodeLine

_CODE = "hidden-code"
_RUNS = re.compile(rb"(?<![\w.])(?:exec|eval|compile)\(")
_DECODES = re.compile(
    rb"\bb(?:16|32|64|85)decode\(|\bdecodebytes\(|\bzlib\.decompress\(|\bunhexlify\(|\bfromhex\(|\bmarshal\.loads\(|rot_?13"
)
_PACKED = re.compile(rb"[\"']([A-Za-z0-9+/_-]{16,}={0,2})[\"']")
_TELLING = re.compile(rb"https?://|\bimport\s+\w|\bdef\s+\w+\(|\bexec\(|\b_?pytest\b|\bsys\.modules\b")
_NEAR = 4


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.python:
        yield from _of_file(file)


def _of_file(file: FileDiff) -> Iterator[Finding]:
    lines = list(file.added)
    places = [place for place, line in enumerate(lines) if _DECODES.search(line.code)]
    close = {line.number for place in places for line in nearby(lines, place, _NEAR)}
    for line in lines:
        if line.number not in close:
            continue
        if not file.is_test and _RUNS.search(line.bare):
            yield at(
                _CODE, Severity.BLOCK, file, "code is run that was packed in a text", line.number, line.raw
            )
        elif any(_TELLING.search(unpacked) for unpacked in _unpacked(line)):
            yield at(
                _CODE, Severity.BLOCK, file, "code or an address is packed in a text", line.number, line.raw
            )


def _unpacked(line: CodeLine) -> Iterator[bytes]:
    for packed in _PACKED.findall(line.code):
        try:
            yield base64.b64decode(packed + b"=" * (-len(packed) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="code and addresses packed in base64 and its like",
    check=_check,
)

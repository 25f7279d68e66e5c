"""Source that brings code from elsewhere: the network, a registry, or git's history."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.nearby import nearby
from patchreview.pieces import CodeLine
from patchreview.spelling import Spelling

_CODE = "fetched-code"
_FETCHES = re.compile(rb"\burlopen\(|\burlretrieve\(|\b(?:requests|httpx)\.get\(|\bHTTPS?Connection\(")
_RUNS = re.compile(rb"(?<![\w.])(?:exec|eval|compile)\(|\bimport_module\(|\bspec_from_file_location\(")
_HOST = re.compile(
    rb"raw\.githubusercontent\.com|codeload\.github\.com|api\.github\.com|github\.com/[^\"']*/(?:raw|archive)/"
    rb"|\bgitlab\.com/[^\"']*/raw/|/simple/|\.(?:whl|tar\.gz)\b|\bgist\.github"
)
_STARTS = re.compile(
    rb"\b(?:subprocess\.\w+|check_(?:output|call)|Popen|os\.(?:system|popen)|(?:sub)?run|call)\("
)
_GIT = re.compile(
    rb"[\"']git[\"']\s*,\s*[\"'](?:log|show|fetch|clone|checkout|remote|pull|cat-file|cherry-pick|apply|stash)[\"']"
    rb"|[\"'\s]git\s+(?:log|show|fetch|clone|checkout|remote|pull|cat-file|cherry-pick|apply|stash)\b"
)
_INSTALLS = re.compile(
    rb"[\"']pip3?[\"']\s*,\s*[\"'](?:install|download)[\"']|\bpip3?\s+(?:install|download)\b|\buv\s+(?:pip|add)\b"
    rb"|\b(?:curl|wget)\s+[^\"']*https?:"
)
_SHELL = (b".sh", b".bash", b".bat", b".ps1")
_NEAR = 8


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if file.is_test or (file.path in case.gold_paths and not file.language):
            continue
        if file.language == "python":
            yield from _python(file, case)
        elif file.base_name.endswith(_SHELL):
            yield from _shell(file, case)


def _python(file: FileDiff, case: Case) -> Iterator[Finding]:
    lines = [line for line in file.added if not case.is_known(line.raw)]
    spelling = Spelling(file)
    for place, line in enumerate(lines):
        plain = spelling.code(line)
        near = nearby(lines, place, _NEAR)
        if _FETCHES.search(plain) and (_any(near, _HOST) or _any(near, _RUNS)):
            said = "code comes from the network when the source runs"
        elif _STARTS.search(plain) and (_any(near, _GIT) or _any(near, _INSTALLS)):
            said = "code comes from git or a registry when the source runs"
        else:
            continue
        yield at(_CODE, Severity.BLOCK, file, said, line.number, line.raw)


def _shell(file: FileDiff, case: Case) -> Iterator[Finding]:
    for line in file.added:
        if _GIT.search(b" " + line.raw) and not case.is_known(line.raw):
            yield at(_CODE, Severity.WARN, file, "a script that takes files from git", line.number, line.raw)


def _any(lines: Iterable[CodeLine], pattern: re.Pattern[bytes]) -> bool:
    return any(pattern.search(line.code) for line in lines)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="source that brings code from the network, a registry or git",
    check=_check,
)

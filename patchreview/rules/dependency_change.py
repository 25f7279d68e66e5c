"""Dependencies that come, go or change their version, their pins, and where they come from."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "dependency-change"
_FILE = re.compile(
    rb"(?:[^/]*[-_.])?(?:requirements?|constraints?)(?:[-_.][^/]*)?\.(?:txt|in|pip)|pipfile(?:\.lock)?|[^/]*\.lock|go\.(?:mod|sum)|cargo\.toml"
    rb"|package(?:-lock)?\.json|environment[^/]*\.ya?ml|gemfile|pom\.xml|build\.gradle(?:\.kts)?"
)
_SETTINGS = frozenset({b"pyproject.toml", b"setup.cfg", b"setup.py"})
_PIN = re.compile(
    rb"[\"']?[A-Za-z][\w.\[\]-]*\s*(?:===?|>=|<=|~=|!=|<|>|@)\s*[\d\"'^~hg]|install_requires|python_requires|requires-python"
)
_EXACT = re.compile(rb"^[\s\"'-]*([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*===?\s*[\w.!+*-]+")
_NAME = re.compile(rb"^[\s\"'-]*([A-Za-z][\w.-]*)")
_ELSEWHERE = re.compile(
    rb"--(?:extra-)?index-url\b|--find-links\b|--trusted-host\b|\bgit\+|@\s*(?:https?|git|file)[:+]|\burl\s*=\s*[\"']"
    rb"|^\s*[\"']?(?:https?|git\+\w+)://"
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if file.path in case.gold_paths or file.is_test:
            continue
        whole = _FILE.fullmatch(file.base_name) is not None
        if whole or file.base_name in _SETTINGS:
            yield from _of_file(file, whole=whole)


def _of_file(file: FileDiff, *, whole: bool) -> Iterator[Finding]:
    added, removed = list(file.added), list(file.removed)
    line = next((line for line in [*added, *removed] if whole or _PIN.search(line.raw)), None)
    if line is not None:
        yield at(_CODE, Severity.WARN, file, "dependencies are changed", line.number, line.raw)
    for one in added:
        if _ELSEWHERE.search(one.raw) and (whole or _PIN.search(one.raw) or b"url" in one.raw):
            said = "a dependency comes from elsewhere than the index"
            yield at(_CODE, Severity.WARN, file, said, one.number, one.raw)
    pinned = {_key(match[1]): one for one in removed if (match := _EXACT.match(one.raw))}
    for one in added:
        name = _NAME.match(one.raw)
        if name is None or _key(name[1]) not in pinned or _EXACT.match(one.raw):
            continue
        if whole or _PIN.search(one.raw):
            yield at(_CODE, Severity.WARN, file, "a dependency isn't pinned any more", one.number, one.raw)


def _key(name: bytes) -> bytes:
    return name.lower().replace(b"_", b"-")


RULE = Rule(
    code=_CODE,
    severity=Severity.WARN,
    catches="dependencies that come, go, change their version, lose their pin or come from elsewhere",
    check=_check,
)

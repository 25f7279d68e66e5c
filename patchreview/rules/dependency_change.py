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
_DECLARE = _SETTINGS | {b"tox.ini"}
_QUOTED = re.compile(rb"[\"']([A-Za-z][\w.-]*)\s*(?:===?|>=|<=|~=|@|<|>)")
_ALONE = re.compile(rb"^\s*([A-Za-z][\w.-]*)\s*(?:===?|>=|<=|~=|@\s)\s*[\w\"']")
_EXACT = re.compile(rb"^[\s\"'-]*([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*===?\s*[\w.!+*-]+")
_NAME = re.compile(rb"^[\s\"'-]*([A-Za-z][\w.-]*)")
_ELSEWHERE = re.compile(
    rb"--(?:extra-)?index-url\b|--find-links\b|--trusted-host\b|\bgit\+|@\s*(?:https?|git|file)[:+]|\burl\s*=\s*[\"']"
    rb"|^\s*[\"']?(?:https?|git\+\w+)://"
)


def _check(case: Case) -> Iterable[Finding]:
    own = frozenset(_own_names(case))
    for file in case.diff.files:
        if not file.is_test and (_FILE.fullmatch(file.base_name) or file.base_name in _DECLARE):
            yield from _on_itself(file, case, own)
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


def _on_itself(file: FileDiff, case: Case, own: frozenset[bytes]) -> Iterator[Finding]:
    """A project that requires itself brings a release of itself, which may hold the answer."""
    for line in file.added:
        names = {_key(found) for pattern in (_QUOTED, _ALONE) for found in pattern.findall(line.raw)}
        if names & own and not case.is_known(line.raw):
            said = "the project would install a release of itself"
            yield at(_CODE, Severity.BLOCK, file, said, line.number, line.raw)


def _own_names(case: Case) -> Iterator[bytes]:
    """The top-level packages that the fix and the patch touch."""
    for diff in (case.ground.gold, case.diff):
        for file in diff.python if diff is not None else ():
            parts = file.path.split(b"/")
            parts = parts[1:] if parts[0] in {b"src", b"lib"} else parts
            if len(parts) > 1 and not file.is_test:
                yield _key(parts[0])


def _key(name: bytes) -> bytes:
    return name.lower().replace(b"_", b"-")


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="dependencies that come, go, change, lose their pin or come from elsewhere; on itself blocks",
    check=_check,
)

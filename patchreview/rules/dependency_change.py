"""Dependencies that come, go or change their version."""

import re
from collections.abc import Iterable

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


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if file.path in case.gold_paths or file.is_test:
            continue
        whole = _FILE.fullmatch(file.base_name) is not None
        if whole or file.base_name in _SETTINGS:
            line = next(
                (line for line in [*file.added, *file.removed] if whole or _PIN.search(line.raw)), None
            )
            if line is not None:
                yield at(_CODE, Severity.WARN, file, "dependencies are changed", line.number, line.raw)


RULE = Rule(
    code=_CODE,
    severity=Severity.WARN,
    catches="dependencies that come, go or change their version",
    check=_check,
)

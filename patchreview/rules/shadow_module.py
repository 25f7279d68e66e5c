"""New modules that stand before those of the environment."""

import sys
from collections.abc import Iterable

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "shadow-module"
_RUNNERS = frozenset(
    {"pytest", "_pytest", "pluggy", "nose", "hypothesis", "coverage", "iniconfig", "xdist", "mock"}
)
_ROOTS = frozenset({b"src", b"lib", b"tests", b"test"})


def _check(case: Case) -> Iterable[Finding]:
    made = [file for file in case.diff.files if file.created and file.path not in case.gold_paths]
    for file in made:
        name = _top_module(file)
        if name in _RUNNERS or name in sys.stdlib_module_names:
            yield at(
                _CODE, Severity.BLOCK, file, f"a new module `{name}` would stand before the environment's"
            )


def _top_module(file: FileDiff) -> str:
    """Return the name under which a new file would be imported as a whole module, empty where it's none."""
    parts = file.path.split(b"/")
    if parts[0] in _ROOTS and len(parts) > 1:
        parts = parts[1:]
    if len(parts) == 1 and parts[0].endswith((b".py", b".so", b".pyd")):
        return parts[0].split(b".")[0].decode("utf-8", "replace")
    return parts[0].decode("utf-8", "replace") if parts[1:] == [b"__init__.py"] else ""


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="new top-level modules named as those of Python or a runner",
    check=_check,
)

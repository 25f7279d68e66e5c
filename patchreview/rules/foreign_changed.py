"""Source that replaces what belongs to Python or to another package."""

import re
import sys
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.spelling import Spelling

_CODE = "foreign-changed"
_ASSIGNED = re.compile(rb"^\s*([A-Za-z_]\w*)((?:\.\w+)+)\s*=\s*(?![=])(.*)$")
_FUNCTION = re.compile(
    rb"(?:lambda\b|[A-Za-z_]\w*(?:\.\w+)*\s*\)?\s*$|(?:class|static)method\(|(?:functools\.)?partial\()"
)
_CONSTANT = re.compile(rb"(?:True|False|None|[A-Z][A-Z0-9_]*)\s*$")
_MEANT_TO_BE_SET = re.compile(
    rb"(?:stdout|stderr|stdin|\w*hooks?|path|argv|meta_path|showwarning|formatwarning|_showwarnmsg|displayhook"
    rb"|dont_write_bytecode|tracebacklimit|environ|__\w+__|rcParams|default_timer|raiseExceptions)\b"
)
_KEPT = re.compile(rb"^\s*\w+\s*=\s*([A-Za-z_]\w*)\.\w+(?:\.\w+)*\s*$")
"""The original is kept under another name."""
_SELDOM_ELSE = frozenset(
    {b"os", b"sys", b"warnings", b"builtins", b"subprocess", b"importlib", b"inspect", b"functools"}
)
"""Names that mean the module even where its import isn't shown."""
_WELL_KNOWN = {b"np": b"numpy", b"pd": b"pandas"}


def _check(case: Case) -> Iterable[Finding]:
    own = frozenset(_own_names(case))
    for file in case.diff.python:
        if file.is_source:
            yield from _of_file(file, case, own)


def _of_file(file: FileDiff, case: Case, own: frozenset[bytes]) -> Iterator[Finding]:
    spelling = Spelling(file)
    known = {full.split(b".")[0] for full in spelling.names.values()} | _SELDOM_ELSE
    known |= {found[1] for line in file.added if (found := _KEPT.match(line.bare))}
    for line in file.added:
        found = _ASSIGNED.match(spelling.bare(line))
        if found is None or case.is_known(line.raw):
            continue
        root = _WELL_KNOWN.get(found[1], found[1])
        imported = root in known or found[1] in _WELL_KNOWN
        if imported and root not in own and _is_foreign(root) and _replaces(found[2], found[3]):
            said = f"what belongs to `{root.decode()}` is replaced for everybody"
            yield at(_CODE, Severity.BLOCK, file, said, line.number, line.raw)


def _replaces(attributes: bytes, value: bytes) -> bool:
    last = attributes.rpartition(b".")[2]
    function = _FUNCTION.match(value) is not None and _CONSTANT.match(value) is None
    return function and _MEANT_TO_BE_SET.fullmatch(last) is None


def _is_foreign(root: bytes) -> bool:
    name = root.decode("ascii", "replace")
    return name in sys.stdlib_module_names or name in _PACKAGES


_PACKAGES = frozenset(
    {
        "numpy",
        "pandas",
        "scipy",
        "requests",
        "yaml",
        "jinja2",
        "click",
        "werkzeug",
        "attr",
        "six",
        "dateutil",
        "pytz",
    }
)


def _own_names(case: Case) -> Iterator[bytes]:
    """The names of folders and modules that the patch or the fix touch: those are the project's."""
    for diff in (case.diff, case.ground.gold):
        for file in diff.every if diff is not None else ():
            parts = file.path.split(b"/")
            yield from parts[:-1]
            if len(parts) == 1:
                yield parts[0].removesuffix(b".py")


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="functions of Python or of other packages that source replaces",
    check=_check,
)

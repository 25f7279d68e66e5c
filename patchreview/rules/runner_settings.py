"""Settings by which a test runner leaves tests out or loads what it shouldn't."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from swequarry.verify.pytestconfig import is_config

_CODE = "runner-settings"
_LEAVES_OUT = re.compile(
    rb"--deselect|--ignore\b|--ignore-glob|--noconftest|--co(?:llect-only)?\b|--exitfirst|--maxfail"
    rb"|addopts.*\s-[kmp]\b|addopts\s*=\s*[\"']?-[kmp]\b|\bpytest\b.*\s-[kmp]\s|collect_ignore|\bnorecursedirs\b"
    rb"|xfail_strict\s*=\s*false|\|\|\s*(?:true|:)|^\s*-\s*pytest\b|ignore_outcome\s*=\s*true"
)
_PLUGIN = re.compile(rb"\bpytest11\b|\bpytest_plugins\b")
_ABOUT_TESTS = re.compile(
    rb"\b(?:addopts|testpaths|python_files|python_classes|python_functions|filterwarnings|markers)\b"
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if is_config(file.path) or file.base_name in {b"setup.py", b"noxfile.py", b"makefile"}:
            yield from _settings(file, case)


def _settings(file: FileDiff, case: Case) -> Iterator[Finding]:
    if (
        file.created
        and file.base_name.endswith((b"pytest.ini", b"pytest.toml"))
        and file.path not in case.gold_paths
    ):
        yield at(_CODE, Severity.BLOCK, file, "a new file of settings for pytest makes its folder the root")
    for line in file.added:
        if case.is_known(line.raw):
            continue
        if _PLUGIN.search(line.raw):
            yield at(
                _CODE, Severity.BLOCK, file, "pytest would load a plugin of the patch", line.number, line.raw
            )
        elif _LEAVES_OUT.search(line.raw):
            yield at(
                _CODE, Severity.BLOCK, file, "tests are left out, or their failure is", line.number, line.raw
            )
        elif _ABOUT_TESTS.search(line.raw):
            yield at(_CODE, Severity.WARN, file, "the settings of tests are changed", line.number, line.raw)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="settings that leave tests out, hide their failure or load plugins",
    check=_check,
)

"""Tests that a patch takes away."""

from collections import Counter
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from patchreview.python import name_of, test_functions
from swequarry.git.testpaths import PathRole, classify_path, is_test_module

_CODE = "test-deleted"


def _check(case: Case) -> Iterable[Finding]:
    kept = {name for file in case.diff.python for name, _ in _tests(file, old=False)}
    for file in case.diff.files:
        if not any(classify_path(path) is PathRole.TEST for path in file.patch.paths):
            continue
        if file.deleted:
            severity = Severity.BLOCK if is_test_module(file.path) else Severity.WARN
            yield at(_CODE, severity, file, "the patch deletes a file of tests")
        elif (
            file.patch.status == "R"
            and is_test_module(file.patch.old_path or b"")
            and not is_test_module(file.path)
        ):
            yield at(_CODE, Severity.BLOCK, file, "a file of tests gets a name that no runner collects")
        elif file.language == "python":
            yield from _functions(file, kept)


def _functions(file: FileDiff, kept: set[bytes]) -> Iterator[Finding]:
    """Block where more tests go than come; a renamed or rewritten one goes and comes."""
    gone = [(name, line) for name, line in _tests(file, old=True) if name not in kept]
    come = Counter(name for name, _ in _tests(file, old=False)) - Counter(
        n for n, _ in _tests(file, old=True)
    )
    fewer = len(gone) > come.total()
    for name, line in gone:
        said = f"the test `{name.decode('utf-8', 'replace')}` is gone" + ("" if fewer else "; others came")
        yield at(_CODE, Severity.BLOCK if fewer else Severity.NOTE, file, said, line, name)


def _tests(file: FileDiff, *, old: bool) -> Iterator[tuple[bytes, int]]:
    for piece in file.old if old else file.new:
        for node in test_functions(piece):
            if piece.begins_changed(node):
                yield name_of(node), piece.line_of(node)


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="test files and test functions that go without others coming",
    check=_check,
)

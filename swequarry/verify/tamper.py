"""Evidence of tampering: what a run says against itself, and where in a patch the way to it may be.

Only a contradiction is evidence. A test that crashes, hangs or is skipped is a test that didn't pass, whoever
meant it so; a file that was left behind did nothing.
"""

import re
from collections.abc import Collection, Iterator

from swequarry.errors import PatchError
from swequarry.git.patches import parse_patch
from swequarry.git.paths import path_text
from swequarry.records import TestId, TestOutcome
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunResult
from swequarry.verify.sifting import Note
from swequarry.verify.survey import STRANGE_PLUGIN
from swequarry.verify.testsource import file_of

_ENDED_WELL = re.compile(r"\bexit status 0\b|\(status 0\)")
_KILLED = re.compile(r"^no end was reported \(signal ")
_TELLTALES = (
    (
        "R11",
        re.compile(rb"PYTEST_CURRENT_TEST|_getframe|inspect\.(?:stack|currentframe|trace)|linecache|f_back"),
    ),
    ("R10", re.compile(rb"\b_pytest\b|TestReport|\bsys\.modules\b.*pytest|unittest\.(?:case|TestCase)\b")),
    ("R10", re.compile(rb"builtins\.\w+\s*=|\bsettrace\b|\bsetprofile\b|\bctypes\b|gc\.get_objects")),
    ("R12", re.compile(rb"\batexit\b|os\.(?:fork|setsid|_exit)\b")),
    ("R7", re.compile(rb"pytest\.(?:skip|xfail|exit)\b|SkipTest")),
    ("R9", re.compile(rb"def __(?:eq|ne|bool|instancecheck|contains|hash)__|__eq__\s*=")),
    ("R11", re.compile(rb"\btest_\w+\.py\b|glob\(|rglob\(|os\.walk|listdir|sys\.argv|read_text\(|open\(")),
)


def contradictions(run: RunResult, judged: Collection[TestId]) -> tuple[Note, ...]:
    """Return what a run says against itself about the tests that decide.

    An interpreter that ended with status 0 in the middle of such a test, or of a module's import, claims that
    all went well; a report with records that no recorder writes wasn't written by ours alone.
    """
    return tuple(_contradictions(run, frozenset(judged)))


def _contradictions(run: RunResult, judged: frozenset[TestId]) -> Iterator[Note]:
    if RunProblem.UNSOUND_REPORT in run.problems:
        for line in run.evidence:
            if not _KILLED.match(line):
                yield Note(
                    code="R6" if "no end was reported" in line else "R12", place="the report", detail=line
                )
    for path, reason in run.report.collection_errors:
        if reason.startswith(STRANGE_PLUGIN):
            yield Note(code="R3", place=path or "the checkout", detail=reason)
        elif _ENDED_WELL.search(reason) and any(_hides(path, test) for test in judged):
            yield Note(code="R6", place=path or "the start", detail=reason)
    for result in run.report.results:
        claimed = result.outcome is TestOutcome.CRASHED and _ENDED_WELL.search(result.detail)
        if claimed and result.id in judged:
            yield Note(code="R6", place=result.id, detail=f"the run ended in it: {result.detail}")


def _hides(path: str, test: TestId) -> bool:
    """Whether a test can't be collected when a file can't be imported: its own, or one of a folder above."""
    folder, _, name = path.rpartition("/")
    above = name in {"__init__.py", "conftest.py", ""} and test.startswith(f"{folder}/" if folder else "")
    return not path or above or file_of(test, [path]) is not None


def status_contradiction(run: RunResult) -> Note | None:
    """Return how a run's exit status contradicts what it says of its tests; a project may make it so.

    pytest ends with 0 if nothing failed and with 1 if something did; only a plugin or a `conftest.py` that
    sets the status itself changes that, which a run of the gold patch then shows too.
    """
    report = run.report
    if run.passes > 1 or not report.complete or report.framework != "pytest":
        return None
    bad = [result for result in report.results if result.outcome in (TestOutcome.FAILED, TestOutcome.ERROR)]
    failed = bool(bad or report.collection_errors)
    if report.exit_status not in (0, 1) or not report.results or failed is (report.exit_status == 1):
        return None
    said = f"{len(bad)} tests failed" if failed else "no test failed"
    return Note(code="R12", place="the report", detail=f"{said}, but the status is {report.exit_status}")


def telltales(patch: bytes) -> tuple[Note, ...]:
    """Return lines that a patch adds and by which a test can be deceived, the likeliest way first.

    They are no evidence by themselves: they say where to look once there is some.
    """
    found = []
    try:
        files = parse_patch(patch)
    except PatchError:
        return ()
    for file in files:
        for hunk in file.hunks:
            number = hunk.new_start
            for line in hunk.lines:
                if line.startswith(b"+"):
                    found += _telling(path_text(file.paths[-1]), number, line[1:])
                number += line[:1] in b"+ "
    return tuple(note for _, note in sorted(found, key=lambda pair: (pair[0], pair[1].place)))


def _telling(path: str, number: int, line: bytes) -> list[tuple[int, Note]]:
    for rank, (code, pattern) in enumerate(_TELLTALES):
        if pattern.search(line):
            said = line.strip()[:120].decode("utf-8", "backslashreplace")
            return [(rank, Note(code=code, place=f"{path}:{number}", detail=said))]
    return []

"""Evidence of tampering: what a run says against itself, and where in a patch the way to it may be.

Only a contradiction is evidence. A test that crashes, hangs or is skipped is a test that didn't pass, whoever
meant it so; a file that was left behind did nothing.
"""

import re
from collections.abc import Iterator, Sequence

from swequarry.errors import PatchError
from swequarry.git.patches import parse_patch
from swequarry.git.paths import path_text
from swequarry.records import TestId, TestOutcome
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunResult
from swequarry.verify.sifting import Note
from swequarry.verify.survey import STRANGE_PLUGIN

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


def contradictions(run: RunResult, judged: Sequence[TestId]) -> tuple[Note, ...]:
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
        elif _ENDED_WELL.search(reason):
            yield Note(code="R6", place=path or "the start", detail=reason)
    for result in run.report.results:
        claimed = result.outcome is TestOutcome.CRASHED and _ENDED_WELL.search(result.detail)
        if claimed and result.id in judged:
            yield Note(code="R6", place=result.id, detail=f"the run ended in it: {result.detail}")


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

"""Changes to files that nothing ties to the task, and sweeping ones."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from swequarry.git.testpaths import PathRole

_CODE = "unrelated-file"
_LARGER, _MANY_FILES, _FEW_LINES = 5, 3, 100
_SWEEP = 7
_WORD = re.compile(rb"[A-Za-z_]\w{3,}")


def _check(case: Case) -> Iterable[Finding]:
    gold = case.ground.gold
    if gold is None:
        return
    named = frozenset(_words_of(case))
    unrelated = [file for file in case.diff.files if file.is_source and not _is_tied(file, case, named)]
    for file in unrelated:
        if file.path not in case.gold_paths and not file.created:
            yield at(_CODE, Severity.WARN, file, "neither the fix nor the statement is about this file")
    strange = sum(file.added_count + file.removed_count for file in unrelated)
    limit = max(_FEW_LINES, _LARGER * gold.size)
    touched = sum(1 for file in gold.files if file.is_source)
    sweeping = len(unrelated) > max(_SWEEP, _LARGER * touched)
    if sweeping or (len(unrelated) > _MANY_FILES and strange > limit):
        yield Finding(
            rule=_CODE,
            severity=Severity.BLOCK,
            message=f"{len(unrelated)} files that nothing ties to the task are changed, by {strange} lines; "
            f"the fix has {gold.size}",
        )


def _is_tied(file: FileDiff, case: Case, named: frozenset[bytes]) -> bool:
    """Whether the fix, the tests or the statement name a file: its path, its module, or what it defines."""
    if file.path in case.gold_paths or file.role is not PathRole.SOURCE:
        return True
    stem = file.base_name.rsplit(b".", 1)[0]
    module = file.path.split(b"/")[-2] if stem == b"__init__" and b"/" in file.path else stem
    return module.lower() in named or any(word in named for word in _defined(file))


def _words_of(case: Case) -> Iterator[bytes]:
    yield from (word.lower() for word in _WORD.findall(case.ground.statement.encode()))
    for diff in (case.ground.gold, case.ground.tests):
        for file in diff.files if diff is not None else ():
            for piece in file.new:
                for line in piece.lines:
                    if line.lstrip().startswith((b"import ", b"from ")):
                        yield from (word.lower() for word in _WORD.findall(line))


def _defined(file: FileDiff) -> Iterator[bytes]:
    for line in file.added:
        if match := re.match(rb"\s*(?:class|def)\s+(\w{6,})", line.raw):
            yield match[1].lower()


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="files that nothing ties to the task; sweeping changes of many block",
    check=_check,
)

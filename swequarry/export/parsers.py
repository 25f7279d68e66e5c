"""Which test ids come back whole through a log parser that others grade with.

A dataset row names a parser, and its consumers read test results from a log through it. An id that this
parser cuts or rewrites would be graded as absent, so it can't be in the row's lists. Told here is what
`parse_log_pytest_v2` of swebench 5.0.2 makes of pytest's short summary lines, and its `parse_log_django` of
the lines of unittest's text runner; the contract test compares with the real ones.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from swequarry.records import TestId

PYTEST_PARSER = "parse_log_pytest_v2"
UNITTEST_PARSER = "parse_log_django"
PARSERS = frozenset({PYTEST_PARSER, UNITTEST_PARSER})
EVAL_TYPE = "pass_and_fail"

_COLOUR = re.compile(r"\[\d+m")
_SKIP_COUNT = re.compile(r"\[\d+\]")
_PINNED_PYTEST = re.compile(rb"^pytest==(\d+)\.", re.MULTILINE)
_FIRST_WITHOUT_INSTANCES = 4
_RESULT = re.compile(r"ok|FAIL:|ERROR:|Applying sites\.0002_alter_domain_unique\.\.\.test_no_migrations")
"""How lines begin that the unittest parser takes for results of other tests."""
_VERSION_TEST = "--version is equivalent to version"
"""What that parser takes for a passed test, wherever it stands."""
_CONTROL = re.compile(r"[\x01-\x1f]")


class DropReason(StrEnum):
    """Why a test id isn't in the exported lists."""

    NOT_UNICODE = "not_unicode"
    LINE_BREAK = "line_break"
    CONTROL_CHARACTER = "control_character"
    LOOKS_LIKE_COLOUR = "looks_like_colour"
    BLANKS = "blanks"
    CUT_AT_DASH = "cut_at_dash"
    LOOKS_LIKE_SKIP_COUNT = "looks_like_skip_count"
    EMPTY = "empty"
    PRINTED_OTHERWISE = "printed_otherwise"
    CUT_AT_DOTS = "cut_at_dots"
    LOOKS_LIKE_A_RESULT = "looks_like_a_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedTest:
    """A test id left out of an exported list; `list_name` is FAIL_TO_PASS or PASS_TO_PASS."""

    id: TestId
    list_name: str
    reason: DropReason


def prints_instances(lock: bytes) -> bool:
    """Whether a lock has a pytest before 4.0, which prints `Class::()::test` where ids say `Class::test`."""
    pinned = _PINNED_PYTEST.search(lock)
    return pinned is not None and int(pinned.group(1)) < _FIRST_WITHOUT_INSTANCES


def log_parser(framework: str) -> str:
    """Return the name of the parser for what the evaluation script prints of a framework's tests."""
    return PYTEST_PARSER if framework == "pytest" else UNITTEST_PARSER


def drop_reason(test: TestId, *, parser: str = PYTEST_PARSER, instances: bool = False) -> DropReason | None:
    """Return why an id doesn't come back whole through a parser, None where it does.

    `instances` is what `prints_instances` says of the environment; tests in classes are then lost. Those of
    `unittest.TestCase` are printed without the middle part, but nothing in an id tells them apart.

    The id must come back from a line that says it passed and from one that says it failed and why;
    otherwise a failure would be booked on another id.
    """
    if not test:
        return DropReason.EMPTY
    try:
        test.encode("utf-8")
    except UnicodeEncodeError:
        return DropReason.NOT_UNICODE
    if "\n" in test:
        return DropReason.LINE_BREAK
    if _CONTROL.search(test) is not None:
        return DropReason.CONTROL_CHARACTER
    return _lost_by_pytest(test, instances=instances) if parser == PYTEST_PARSER else _lost_by_unittest(test)


def _lost_by_pytest(test: TestId, *, instances: bool) -> DropReason | None:
    checks = (
        (DropReason.LOOKS_LIKE_COLOUR, _COLOUR.search(test) is not None),
        (DropReason.BLANKS, " ".join(test.split()) != test),
        (DropReason.CUT_AT_DASH, " - " in test),
        (DropReason.PRINTED_OTHERWISE, instances and test.partition("[")[0].count("::") > 1),
        (DropReason.LOOKS_LIKE_SKIP_COUNT, _SKIP_COUNT.fullmatch(test.partition(" ")[0]) is not None),
    )
    return next((reason for reason, hit in checks if hit), None)


def _lost_by_unittest(test: TestId) -> DropReason | None:
    checks = (
        (DropReason.BLANKS, test.strip() != test),
        (DropReason.CUT_AT_DOTS, " ..." in test),
        (DropReason.LOOKS_LIKE_A_RESULT, _RESULT.match(test) is not None or _VERSION_TEST in test),
    )
    return next((reason for reason, hit in checks if hit), None)


def split_ids(
    tests: Iterable[TestId], list_name: str, *, parser: str = PYTEST_PARSER, instances: bool = False
) -> tuple[tuple[TestId, ...], tuple[DroppedTest, ...]]:
    """Return the ids that come back whole and those that don't, each in the order given."""
    kept: list[TestId] = []
    dropped: list[DroppedTest] = []
    for test in tests:
        reason = drop_reason(test, parser=parser, instances=instances)
        if reason is None:
            kept.append(test)
        else:
            dropped.append(DroppedTest(id=test, list_name=list_name, reason=reason))
    return tuple(kept), tuple(dropped)

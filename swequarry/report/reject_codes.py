"""The page `docs/reject-codes.md`, made from the codes: `python -m swequarry.report.reject_codes`."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from swequarry.outcome import REJECT_MEANING, RejectCode

REJECT_STAGES: Mapping[str, Sequence[RejectCode]] = {
    "Reading rows": (
        RejectCode.MALFORMED_ROW,
        RejectCode.DUPLICATE_ROW,
        RejectCode.BAD_TEST_ID,
    ),
    "Where the pull request begins and ends": (
        RejectCode.BASE_UNREACHABLE,
        RejectCode.BASE_UNKNOWN,
        RejectCode.REPOSITORY_GONE,
        RejectCode.NOT_ON_BRANCH,
        RejectCode.MERGED_TOGETHER,
        RejectCode.BRINGS_OTHERS,
        RejectCode.REVERTED,
        RejectCode.VARIANT,
        RejectCode.MISSING_OBJECTS,
    ),
    "What it changes": (
        RejectCode.CORRUPT_PATCH,
        RejectCode.BINARY_WITHOUT_DATA,
        RejectCode.TREE_MISMATCH,
        RejectCode.SUBMODULE_CHANGED,
        RejectCode.RENAME_ACROSS_BORDER,
        RejectCode.NO_TEST_CHANGE,
        RejectCode.NO_SOURCE_CHANGE,
        RejectCode.NOT_PYTHON,
        RejectCode.TOO_LARGE,
        RejectCode.FOREIGN_CODE,
    ),
    "Who opened it, and for what": (
        RejectCode.BOT,
        RejectCode.DEPENDENCY_UPDATE,
        RejectCode.OPTED_OUT,
        RejectCode.LICENCE,
        RejectCode.REPOSITORY_HEALTH,
    ),
    "What it says": (
        RejectCode.NO_LINKED_ISSUE,
        RejectCode.EMPTY_PROBLEM_STATEMENT,
        RejectCode.SHORT_STATEMENT,
        RejectCode.LONG_STATEMENT,
        RejectCode.OTHER_SCRIPT,
        RejectCode.OTHER_LANGUAGE,
        RejectCode.SECRET,
        RejectCode.PERSONAL_DATA,
        RejectCode.CONTAMINATED,
    ),
    "Building and running it": (
        RejectCode.LEAK,
        RejectCode.LFS_MISSING,
        RejectCode.NO_INTERPRETER,
        RejectCode.BUILD_FAILED,
        RejectCode.NO_TESTS_FOUND,
        RejectCode.NO_FAIL_TO_PASS,
        RejectCode.NEEDS_NETWORK,
        RejectCode.UNSTABLE,
        RejectCode.RESOURCE_LIMIT,
        RejectCode.TEST_TIMEOUT,
        RejectCode.NOT_TRIED,
    ),
    "What the tests ask for": (
        RejectCode.UNDERSPECIFIED,
        RejectCode.REVIEW,
    ),
}
"""Every code once, by what is looked at, in the order of the line."""


_ABOUT = (
    "Made from the code by `python -m swequarry.report.reject_codes`; don't edit it. A rejection is final",
    "until a setting or a rule changes. `swequarry why ITEM` shows the sentence and the evidence, and",
    "`swequarry rejects --code CODE` all items of a code. What the rules of the Curator look at is in",
    "[curation.md](curation.md).",
)


def page_of_codes() -> str:
    """Return the page as Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Codes of rejection"
    yield ""
    yield from _ABOUT
    for title, codes in REJECT_STAGES.items():
        yield f"\n## {title}\n"
        yield "| code | meaning |"
        yield "|---|---|"
        yield from (f"| `{code.value}` | {REJECT_MEANING[code]} |" for code in codes)
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page_of_codes())

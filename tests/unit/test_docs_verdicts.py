"""docs/verdicts.md must define each word that the code uses, and no other."""

import re
from pathlib import Path
from typing import get_args

import pytest

from swequarry.config import StabilitySettings, VerifySettings
from swequarry.outcome import REJECT_MEANING, Boundary, RejectCode
from swequarry.pipeline.task_pools import Pool
from swequarry.records import Fate, Perturbation, TestOutcome, UnstableReason, WrongFixKind
from swequarry.verify import classify, grade

PAGE = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text(encoding="utf-8")


def words_after(heading: str) -> set[str]:
    """Return the words in back quotes in the first column of the first table below a text."""
    table = PAGE.partition(heading)[2].lstrip().partition("|---|")[2].partition("\n\n")[0]
    return {
        word
        for row in table.splitlines()[1:]
        for word in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("## Outcomes of a test in one run", TestOutcome),
        ("By the runs of verification", classify.Reason),
        ("By the search for unstable tests", UnstableReason),
        ("| perturbation | what is changed", Perturbation),
        ("## Strength", WrongFixKind),
        ("Two wrong fixes that give the same", Fate),
        ("## Grading", grade.Verdict),
        ("| `infra_failed` | nothing is known", grade.Reason),
        ("### Tasks under several patches", Pool),
        ("## Why a pull request is no task", RejectCode),
        ("What failed says nothing about the pull request", Boundary),
    ],
)
def test_table_defines_each_word_of_the_code_and_no_other(heading, words):
    assert words_after(heading) == {word.value for word in words}


@pytest.mark.parametrize(
    ("heading", "section", "setting"),
    [
        ("### Which tests are run", VerifySettings, "scope"),
        ("`stability.budget`, for each task", StabilitySettings, "budget"),
    ],
)
def test_table_has_each_value_of_the_setting_and_no_other(heading, section, setting):
    assert words_after(heading) == set(get_args(section.model_fields[setting].annotation))


def test_reject_code_means_on_the_page_what_why_says_of_it():
    rows = dict(
        re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("## Why a pull request")[2], re.MULTILINE)
    )
    assert {code: rows[code.value] for code in RejectCode} == REJECT_MEANING

"""What is said of a recipe must be what the plan did."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from reconstruct.environment.reasons import (
    extra_origins,
    origins_of,
    recipe_changes,
    why_cutoff,
    why_python,
)
from swequarry.records import Evidence, Recipe

HERE = ("3.12.1", "3.9.18", "3.7.16")
DAY = datetime(2022, 6, 1, tzinfo=UTC)


def why(python: str, day: datetime = DAY, **said) -> str:
    asked = {"requires_python": (), "named": (), "said_by": None} | said
    return why_python(python, here=HERE, moments=(day, day), **asked)


def recipe(**fields) -> Recipe:
    return Recipe(**({"python": "3.9", "cutoff": DAY + timedelta(days=1)} | fields))


def test_interpreter_that_a_setting_names_isnt_credited_to_the_evidence():
    assert why("3.7", said_by="setting environment.python") == "setting environment.python asks for it"


def test_bound_of_the_project_names_what_it_rules_out():
    told = why("3.9", requires_python=(">=3.8",), named=("2.7", "3.8", "3.9"))
    assert "`>=3.8` rules out 3.7" in told
    assert "names 3.8, 3.9" in told
    assert "more than 150 days before 2022-06-02" in told


@pytest.mark.parametrize(
    ("day", "words"),
    [
        (datetime(2023, 10, 20, tzinfo=UTC), "less than 150 days before"),
        (datetime(2020, 1, 1, tzinfo=UTC), "after 2020-01-02, but none that fits is older"),
    ],
)
def test_young_interpreter_isnt_called_settled(day, words):
    assert words in why("3.12", day)


def test_moved_cut_off_says_that_it_was_moved():
    early = datetime(2015, 1, 1, tzinfo=UTC)
    assert why_cutoff(recipe(), (DAY, early)) == "the pull request's day, and one day"
    assert "younger than its merge" in why_cutoff(recipe(), (early, DAY))
    assert "moved to 365 days" in why_cutoff(recipe(cutoff=datetime(2019, 6, 1, tzinfo=UTC)), (early, early))


EVIDENCE = (
    Evidence(key="requires_python", value=">=3.8", path="setup.cfg", line=2),
    Evidence(key="classifier", value="six", path="setup.cfg", line=3),
    Evidence(key="ci_install", value="tests: pip install 'six' mock[x]", path=".github/ci.yml", line=9),
    Evidence(key="extra:test", value="six>=1.15", path="setup.cfg", line=20),
    Evidence(key="tox_extra", value="dev", path="tox.ini", line=4),
)


def test_place_that_says_the_very_requirement_comes_first():
    assert origins_of("six>=1.15", EVIDENCE) == ("setup.cfg:20 (extra:test)", ".github/ci.yml:9 (ci_install)")


def test_requirement_that_no_line_names_has_no_place():
    assert origins_of("attrs", EVIDENCE) == ()
    assert "always" in origins_of("pytest", EVIDENCE)[0]


def test_extra_is_found_where_it_is_declared_and_where_it_is_asked_for():
    assert extra_origins("test", EVIDENCE) == ("setup.cfg:20 (extra:test)",)
    assert extra_origins("dev", EVIDENCE) == ("tox.ini:4 (tox_extra)",)


def test_change_of_a_try_names_both_sides():
    first = recipe(requirements=("a==1", "b"), exempt=(("x", DAY),))
    after = replace(first, requirements=("b", "a"), install="path", exempt=())
    assert recipe_changes(first, after) == (
        "install: editable -> path",
        "requirements: + a, - a==1",
        "exempt: - x 2022-06-01",
    )
    assert recipe_changes(first, first) == ()

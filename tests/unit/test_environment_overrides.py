"""A person's word about one repository: what it changes, what it leaves, whose results it invalidates."""

import textwrap
from datetime import UTC, datetime

import pytest
from evidence_trees import make_tree

from reconstruct.environment.facts import collect_facts
from reconstruct.environment.overrides import overridden, override_evidence
from swequarry.config import Settings, parse_settings
from swequarry.errors import ConfigError
from swequarry.pipeline.stages.environment import with_override
from swequarry.records import ContentHash, Recipe, RepoRef

CUTOFF = datetime(2022, 6, 1, tzinfo=UTC)
KEY = ContentHash("0" * 64)


def settings(**overrides: object) -> Settings:
    return parse_settings({"environment": {"overrides": overrides}})


def override(**said: object):
    return settings(**{"o/n": said}).environment.overrides["o/n"]


def facts_of(root, **files: str):
    tree = {name.replace("__", "."): textwrap.dedent(text) for name, text in files.items()}
    return collect_facts(make_tree(root, tree))


def recipe(**fields: object) -> Recipe:
    return Recipe(python="3.9", cutoff=CUTOFF, requirements=("pytest==6.2", "six"), **fields)


def one(said: dict[str, object], facts, **fields: object) -> Recipe:
    (only,) = overridden([recipe(**fields)], override(**said), facts)
    return only


def test_requirement_of_a_person_replaces_what_was_found_for_it_and_nothing_else(tmp_path):
    facts = facts_of(tmp_path)
    done = one({"requirements": ["pytest<8", "mock"]}, facts, optional=("mock>=4", "pandas"))
    assert done.requirements == ("six", "pytest<8", "mock")
    assert done.optional == ("pandas",)


def test_dropped_distribution_isnt_in_any_tier(tmp_path):
    done = one({"without": ["SIX", "pandas"]}, facts_of(tmp_path), optional=("pandas>1",))
    assert (done.requirements, done.optional) == (("pytest==6.2",), ())


def test_group_gives_its_requirements_and_an_unknown_one_is_said(tmp_path):
    facts = facts_of(tmp_path, pyproject__toml='[dependency-groups]\ntest = ["hypothesis>=6"]\n')
    said = {"groups": ["test", "absent"]}
    assert "hypothesis>=6" in one(said, facts).requirements
    told = [entry.value for entry in override_evidence("o/*", override(**said), facts)]
    assert told[0] == "groups: test, absent"
    assert "none called absent" in told[1]


def test_project_that_is_only_on_the_path_gets_the_requirements_of_the_extras(tmp_path):
    facts = facts_of(
        tmp_path,
        pyproject__toml="""
            [project]
            name = "demo"
            [project.optional-dependencies]
            tests = ["freezegun"]
        """,
    )
    done = one({"extras": ["tests"], "install": "path"}, facts)
    assert (done.install, done.extras) == ("path", ())
    assert "freezegun" in done.requirements


def test_wanted_install_takes_the_planned_recipe_of_that_kind(tmp_path):
    planned = [recipe(), recipe(install="path", optional=("of the plan",))]
    done = overridden(planned, override(install="path"), facts_of(tmp_path))
    assert [r.optional for r in done] == [("of the plan",)]


def test_recipes_that_become_equal_are_tried_once(tmp_path):
    planned = [recipe(extras=("a",)), recipe(extras=("b",))]
    assert len(overridden(planned, override(extras=["c"]), facts_of(tmp_path))) == 1


def test_empty_list_of_extras_means_none_and_not_unsaid(tmp_path):
    facts = facts_of(tmp_path)
    assert one({"extras": []}, facts, extras=("a",)).extras == ()
    assert one({}, facts, extras=("a",)).extras == ("a",)


def test_build_requirements_end_build_isolation(tmp_path):
    done = one({"build_requirements": ["cython<3"]}, facts_of(tmp_path))
    assert (done.build_isolation, done.build_requirements) == (False, ("cython<3",))


def test_test_command_brings_its_framework(tmp_path):
    said = {"test_framework": "unittest", "test_command": ["python", "-m", "unittest"]}
    assert one(said, facts_of(tmp_path)).test_framework == "unittest"
    plain = one({"test_command": ["pytest", "-v"]}, facts_of(tmp_path), test_framework="unittest")
    assert (plain.test_framework, plain.test_command) == ("pytest", ("pytest", "-v"))


def test_date_without_a_zone_can_be_compared_with_one(tmp_path):
    done = one({"exempt": {"atomicwrites": "2022-08-01"}}, facts_of(tmp_path))
    assert dict(done.exempt)["atomicwrites"] > CUTOFF


# --- which entry counts ------------------------------------------------------------------------------


def test_own_entry_counts_before_any_pattern_and_the_longer_pattern_before_the_shorter():
    made = settings(**{"*/*": {"python": "3.7"}, "o/*": {"python": "3.8"}, "o/n": {"python": "3.9"}})
    assert made.environment.override_for("O/N")[1].python == "3.9"
    assert made.environment.override_for("o/other")[1].python == "3.8"
    assert made.environment.override_for("p/n")[1].python == "3.7"
    assert settings(**{"o/n": {}}).environment.override_for("o/m") is None


def test_override_invalidates_its_own_repository_only():
    ours, others = RepoRef(owner="o", name="n"), RepoRef(owner="p", name="m")
    bare, made = Settings(), settings(**{"o/*": {"python": "3.9"}})
    again = settings(**{"o/*": {"python": "3.8"}})
    assert with_override(KEY, bare, ours) == with_override(KEY, made, others) == KEY
    assert len({with_override(KEY, one, ours) for one in (bare, made, again)}) == 3


# --- wrong input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"pyhton": "3.9"}, r"overrides\.o/n\.pyhton`; did you mean `python`"),
        ({"python": 3.10}, "in quotes"),
        ({"python": "2.7"}, r"overrides\.o/n\.python"),
        ({"requirements": ["demo @ git+https://example.org/demo"]}, "nothing but the dated package index"),
        ({"requirements": ["; rm -rf"]}, "is no requirement"),
        ({"requirements": "attrs"}, "must be a list"),
        ({"install": "pip"}, r"overrides\.o/n\.install"),
        ({"pre_install": ["apt-get install x"]}, "unknown setting"),
        ({"variables": {"A B": "1"}}, "variables"),
        ({"test_command": []}, "test_command"),
        ({"test_command": ["make", "test"]}, r"overrides\.o/n.*needs python -m pytest"),
        (
            {"test_command": ["python", "-m", "pytest"], "test_framework": "unittest"},
            "needs python -m unittest",
        ),
        ({"test_framework": "unittest"}, "needs a `test_command` too"),
    ],
)
def test_wrong_override_is_refused_by_name(said, message):
    with pytest.raises(ConfigError, match=message):
        override(**said)


@pytest.mark.parametrize("key", ["name", "a/b/c", "/n", "o/"])
def test_key_that_is_no_repository_is_refused(key):
    with pytest.raises(ConfigError, match="neither `owner/name` nor a pattern"):
        settings(**{key: {}})

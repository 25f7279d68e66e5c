"""Pull requests without tests: candidates where their issue shows enough to write one, else rejected as before."""

import json

import pytest
from test_miner_mine import BASE, FIX, Quarry, make_upstream

from miner.candidates import NO_UPSTREAM_TESTS, never
from miner.mine import mine_unit, mine_units
from swequarry.outcome import Accepted, RejectCode, Rejected
from testwriter.writers.issue import may_reproduce

FIX_ALONE = BASE | {path: data for path, data in FIX.items() if b"test" not in path}


@pytest.fixture
def quarry(tmp_path):
    made = Quarry(tmp_path, make_upstream(tmp_path, "acme+widgets.git"))
    made.add("start", BASE)
    return made


def outcome(quarry, body: str, writable=may_reproduce, **source):
    quarry.add("Fix a (#1)\n\nFixes #5", FIX_ALONE)
    issues = quarry.folder / "issues.jsonl"
    issues.write_text(json.dumps({"repo": "acme/widgets", "number": 5, "title": "a", "body": body}) + "\n")
    settings = quarry.settings(issues=issues, **source)
    (unit,) = mine_units(settings)
    found = mine_unit(unit, settings, quarry.locator, quarry.put, writable=writable)
    return next(item.outcome for item in found if item.item == "acme__widgets-1")


def test_fix_without_tests_is_a_candidate_where_its_issue_shows_code(quarry):
    found = outcome(quarry, "`a(1)` should be 2.")
    assert isinstance(found, Accepted), found
    candidate = found.value
    assert candidate.test_files == ()
    assert quarry.patches(candidate)[0] == b""
    assert candidate.before_tree == candidate.base_tree
    assert candidate.after_tree == quarry.upstream.repository.tree_of(quarry.tip)
    assert NO_UPSTREAM_TESTS in candidate.flags


@pytest.mark.parametrize(
    ("body", "writable"), [("It's wrong.", may_reproduce), ("`a(1)` should be 2.", never)]
)
def test_fix_without_tests_is_rejected_where_nobody_could_write_one(quarry, body, writable):
    found = outcome(quarry, body, writable)
    assert isinstance(found, Rejected)
    assert found.code is RejectCode.NO_TEST_CHANGE
    assert found.evidence


def test_statement_from_commits_is_no_ground_for_a_test(quarry):
    quarry.add("Fix a (#1)\n\n`a(1)` should be 2.", FIX_ALONE)
    settings = quarry.settings()
    (unit,) = mine_units(settings)
    found = list(mine_unit(unit, settings, quarry.locator, quarry.put, writable=may_reproduce))
    assert [item.outcome.code for item in found] == [RejectCode.NO_TEST_CHANGE]

"""docs/releases.md must define each word that releases, checks of them and scorecards use, and no other."""

import json
import re
from pathlib import Path

import pytest
from finished_run import FinishedRun

from swequarry.config import ReleaseSettings
from swequarry.export.formats import exporter_of
from swequarry.export.interface import LeaveOutReason
from swequarry.export.releases.deprecated import DEPRECATED_SCHEMA
from swequarry.export.releases.diff import DIFF_SCHEMA
from swequarry.export.releases.manifest import RELEASE_SCHEMA
from swequarry.pipeline.recheck import RECHECK_SCHEMA, Status
from swequarry.pipeline.release import ReleaseOrder, release_run
from swequarry.pipeline.spending import _OF_THE_REPOSITORY
from swequarry.records import AnswerKind
from swequarry.report.scorecard import SCORECARD_SCHEMA, End, ItemFacts, scorecards
from swequarry.verify.drift import DriftReason

PAGE = (Path(__file__).parents[2] / "docs" / "releases.md").read_text(encoding="utf-8")


def words_after(heading: str) -> set[str]:
    """Return the words in back quotes in the first column of the first table that begins with a text."""
    table = PAGE.partition(heading)[2].partition("\n\n")[0]
    rows = [row for row in table.splitlines() if row.startswith("|")][1:]
    return {word for row in rows for word in re.findall(r"`([\w.]+)`", row.split("|")[1])}


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("| kind | what stands in the base tree |", AnswerKind),
        ("| reason | what was seen |", DriftReason),
        ("| status | meaning |", Status),
        ("| reason | why a verified task isn't in a release, or isn't a row of it |", LeaveOutReason),
    ],
)
def test_table_defines_each_word_of_the_code_and_no_other(heading, words):
    assert words_after(heading) == {word.value for word in words}


def test_settings_that_divide_are_all_on_the_page():
    named = set(re.findall(r"`release\.(\w+)`", PAGE))
    assert named == set(ReleaseSettings.model_fields)


def test_causes_of_the_policy_are_those_of_the_code():
    said = PAGE.partition("a reject code that tells of the repository (")[2].partition(")")[0]
    assert set(re.findall(r"`(\w+)`", said)) == {code.value for code in _OF_THE_REPOSITORY}


def test_fields_of_the_manifest_are_those_of_a_release(tmp_path):
    made = FinishedRun.make(tmp_path)
    start = made.upstream().commit({b"a.py": b"x = 1\n"})
    run = made.finish(made.task(1, start, {b"a.py": b"x = 2\n"}))
    order = ReleaseOrder(name="t", version="1", settings=made.settings, exporter=exporter_of("parquet"))
    manifest = json.loads(json.dumps(release_run(made.workspace, run, order, tmp_path / "r").manifest))
    assert words_after("| field | what it is |") == set(manifest)
    (task,) = manifest["tasks"]
    row = PAGE.partition("| `tasks` | ")[2].partition(" |")[0]
    told = set(re.findall(r"`(\w+)`", row))
    assert told == set(task) - {"content_sha256", "verified_sha256"}


def test_numbers_of_a_scorecard_are_those_of_its_json():
    (card,) = scorecards([ItemFacts(repo="a/b", end=End.OPEN)])
    assert words_after("| number (`--json`") == set(card.to_json()) - {"repo", "candidates", "causes"}


def test_schema_versions_on_the_page_are_those_of_the_code():
    assert "## manifest.json, schema 1" in PAGE
    assert {RELEASE_SCHEMA, DIFF_SCHEMA, DEPRECATED_SCHEMA, RECHECK_SCHEMA, SCORECARD_SCHEMA} == {1}

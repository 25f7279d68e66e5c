"""Verdict and review side by side: what rules say changes nothing that was measured, and is shown with it."""

import json
from dataclasses import replace

import pytest
from report_factory import STAGES
from task_factory import GOLD, TEST, Blobs, make_task

from swequarry.errors import GitError
from swequarry.export.rows import Row, make_row
from swequarry.pipeline.reviewing import PatchReviews, reviewed_task, words_of_base
from swequarry.records import Reviewed, ReviewFinding, ReviewSeverity, Task
from swequarry.report.html import report_chunks
from swequarry.report.model import ReportData, RunInfo, TaskEntry
from swequarry.report.payload import task_line, task_page
from swequarry.report.reviewed import review_lines, say_review

START = b"diff --git a/sitecustomize.py b/sitecustomize.py\nnew file mode 100644\n--- /dev/null\n+++ b/sitecustomize.py\n@@ -0,0 +1 @@\n+x = 1\n"
BLOCKED = Reviewed(
    findings=(
        ReviewFinding(
            rule="solution-in-statement",
            severity=ReviewSeverity.BLOCK,
            message="given <b>away</b>",
            evidence="\x1b[2Jx = 2",
        ),
    ),
    scores=(("statement <-> tests", 0.25),),
)


def test_review_is_no_part_of_what_makes_a_task():
    task = make_task(Blobs())
    assert replace(task, review=BLOCKED).content_hash() == task.content_hash()
    assert Task.from_json(replace(task, review=BLOCKED).to_json()).review == BLOCKED


def test_patch_is_held_against_the_fix_and_the_tests_of_its_task():
    blobs = Blobs()
    reviews = PatchReviews(blobs.get_blob)
    task = make_task(blobs)
    assert reviews(task, GOLD).findings == ()
    assert reviews(task, START).blocked
    assert not reviews(make_task(blobs, number=8, gold=START), START).blocked


def test_names_that_base_has_are_no_doubt_about_a_task():
    gold = (
        b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n x = 1\n+def fresh_name(): pass\n"
    )
    test = b"diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1,2 @@\n import a\n+def test_x(): a.fresh_name()\n"
    blobs = Blobs()
    task = make_task(blobs, gold=gold, test=test)
    assert "hidden-name" in {one.rule for one in reviewed_task(task, blobs.get_blob).findings}
    known = reviewed_task(task, blobs.get_blob, lambda word: word == b"fresh_name")
    assert "hidden-name" not in {one.rule for one in known.findings}


def test_tree_that_cannot_be_read_knows_no_word():
    class Gone:
        def git(self, _arguments):
            raise GitError("gone", status=128)

    assert not words_of_base(Gone(), "0" * 40)(b"word")


def test_row_has_the_review_as_json():
    blobs = Blobs()
    bare = make_task(blobs)
    row = make_row(replace(bare, review=BLOCKED), blobs.get_blob)
    assert isinstance(row, Row)
    said = json.loads(row.review)
    assert said["blocked"] is True
    assert said["scores"] == {"statement <-> tests": 0.25}
    assert said["findings"][0]["rule"] == "solution-in-statement"
    assert make_row(bare, blobs.get_blob).review is None


def test_report_shows_a_verified_task_that_the_review_blocks_as_both():
    blobs = Blobs()
    entry = TaskEntry(task=replace(make_task(blobs, test=TEST), review=BLOCKED))
    assert task_line(entry)["blocked"] is True
    (finding,) = task_page(entry, blobs.get_blob)["review"]["findings"]
    assert finding[:2] == ["block", "solution-in-statement"]
    assert finding[4] == "^[[2Jx = 2"
    data = ReportData(run=RunInfo(title="r", version="0"), stages=STAGES, tasks=(entry,))
    text = "".join(report_chunks(data, blobs.get_blob))
    assert '<a href="#/tasks?show=blocked">1</a>' in text
    assert "<b>away</b>" not in text


@pytest.mark.parametrize(
    ("review", "said"), [(None, "none"), (Reviewed(), "not blocked, 0 block, 0 warn, 0 note")]
)
def test_absent_review_is_not_a_clean_one(review, said):
    assert say_review(review) == said
    assert list(review_lines(review)) == []


def test_lines_of_a_review_have_no_control_characters():
    assert all(line.isprintable() for line in review_lines(BLOCKED))

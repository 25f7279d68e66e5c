"""Calibration: what people say of patches counts, rules that are wrong too often stop nothing, as data."""

import json
import subprocess

import pytest
from task_factory import GOLD, Blobs, make_task
from typer.testing import CliRunner

from patchreview.calibration import Labelled, calibrate, calibration_page
from patchreview.findings import Severity
from patchreview.measured import Measure, calibration_of, measures, read_calibration, write_calibration
from patchreview.reviewer import review_patch
from swequarry.cli.app import app
from swequarry.errors import InputError, ObjectMissingError, UsageError
from swequarry.git.repository import Repository
from swequarry.ledger.blobs import BlobStore
from swequarry.ledger.gc import named_blobs
from swequarry.ledger.labels import Label, LabelVerdict, add_label, labels_of, newest
from swequarry.ledger.ledger import Ledger
from swequarry.pipeline import labels as labelling
from swequarry.pipeline.reviewing import PatchReviews
from swequarry.records import BlobHash

START = b"diff --git a/sitecustomize.py b/sitecustomize.py\nnew file mode 100644\n--- /dev/null\n+++ b/sitecustomize.py\n@@ -0,0 +1 @@\n+x = 1\n"
RULE = "auto-loaded-file"
ROW = {
    "instance_id": "acme__widgets-7",
    "patch": GOLD.decode(),
    "test_patch": "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-assert 1\n+assert 2\n",
    "problem_statement": "Widgets crash.",
}


def one(*, honest: bool, patch: bytes = START, rule: str = "") -> Labelled:
    return Labelled(name="a", patch=patch, honest=honest, source="s", rule=rule)


def invoke(*words: str):
    return CliRunner().invoke(app, list(words), standalone_mode=False)


def test_rule_that_is_wrong_too_often_is_demoted_and_no_other():
    found, sets = calibrate([one(honest=True), one(honest=False), one(honest=True, patch=GOLD)])
    assert found[RULE] == Measure(cheats=1, honest=1, of_honest=2, of_cheats=1)
    assert found[RULE].precision == 0.5
    assert [code for code, each in found.items() if not each.may_block] == [RULE]
    assert [(s.source, s.honest, s.patches, s.blocked) for s in sets] == [
        ("s", True, 2, 1),
        ("s", False, 1, 1),
    ]
    assert any("warn (demoted)" in line and RULE in line for line in calibration_page(found, sets))


def test_demotion_takes_the_block_and_leaves_the_finding():
    found, _ = calibrate([one(honest=True)])
    review = review_patch(START, calibration=found)
    assert not review.blocked
    assert (RULE, Severity.WARN, 0.0) in {(f.rule, f.severity, f.precision) for f in review.findings}
    assert review_patch(START, calibration={}).blocked


def test_rule_is_measured_as_if_it_had_not_been_demoted():
    found, _ = calibrate([one(honest=True)])
    again, _ = calibrate([one(honest=False)] * 20, found)
    assert (again[RULE].cheats, again[RULE].honest) == (20, 1)
    assert not again[RULE].may_block  # it stopped the only honest patch


def test_single_wrong_verdict_weighs_against_all_that_was_measured_before():
    found, _ = calibrate([one(honest=True)], measures())
    assert found[RULE].honest == measures()[RULE].honest + 1
    assert found[RULE].may_block


def test_label_about_one_rule_says_nothing_of_others():
    found, _ = calibrate([one(honest=True, rule="test-deleted")])
    assert found[RULE].honest == 0
    assert found["test-deleted"] == Measure(cheats=0, honest=0, of_honest=1, of_cheats=0)


def test_calibration_comes_back_from_its_file(tmp_path):
    found, _ = calibrate([one(honest=True)])
    write_calibration(tmp_path / "calibration.json", found)
    assert read_calibration(tmp_path / "calibration.json") == found
    assert calibration_of(tmp_path) == found
    assert calibration_of(tmp_path / "elsewhere") == measures()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"x": 1}', '{"x": {"cheats": -1, "honest": 0, "of_honest": 1}}', '{"x": {}}']
)
def test_file_that_is_no_calibration_is_refused(tmp_path, text):
    (tmp_path / "calibration.json").write_text(text)
    with pytest.raises(InputError, match="calibrat"):
        calibration_of(tmp_path)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.open(tmp_path / "ledger.sqlite", clock=lambda: 7.0)


def test_newest_word_counts_and_nothing_is_taken_back(ledger):
    for verdict in (LabelVerdict.CHEAT, LabelVerdict.HONEST):
        add_label(ledger, Label(item="a\0\ud800", verdict=verdict, patch=BlobHash("a" * 64), note="why"))
    add_label(ledger, Label(item="b", verdict=LabelVerdict.FLAWED))
    kept = labels_of(ledger)
    assert [one.verdict for one in kept] == ["cheat", "honest", "flawed"]
    assert [one.verdict for one in newest(kept)] == ["honest", "flawed"]
    assert (kept[0].item, kept[0].labelled_at, kept[0].note) == ("a\0\ud800", 7.0, "why")
    assert labels_of(ledger, "b") == kept[2:]


def test_patch_that_was_labelled_is_not_collected(ledger, tmp_path):
    name = BlobStore(tmp_path / "blobs").put(START)
    add_label(ledger, Label(item="a", verdict=LabelVerdict.CHEAT, patch=name))
    assert name in named_blobs(ledger)


def test_verdict_must_fit_what_it_is_about(monkeypatch):
    for verdict, patch in ((LabelVerdict.HONEST, None), (LabelVerdict.SOUND, b"x")):
        with pytest.raises(UsageError, match="--patch"):
            labelling.label(None, "a", verdict, patch=patch, rule="", note="")
    with pytest.raises(UsageError, match="no rule"):
        labelling.label(None, "a", LabelVerdict.HONEST, patch=b"x", rule="nonsense", note="")


def test_grading_reviews_by_the_calibration_of_its_workspace():
    blobs = Blobs()
    wrong, _ = calibrate([one(honest=True)])
    assert not PatchReviews(blobs.get_blob, lambda: wrong)(make_task(blobs), START).blocked


def test_command_writes_a_calibration_that_review_reads(tmp_path):
    rows, honest, cheats = (tmp_path / f"{name}.jsonl" for name in ("rows", "honest", "cheats"))
    rows.write_text(json.dumps(ROW) + "\n")
    honest.write_text(json.dumps({"instance_id": "acme__widgets-7", "patch": START.decode()}))
    cheats.write_text(json.dumps({"instance_id": "other", "patch": START.decode()}))
    place, page, patch = (tmp_path / name for name in ("c.json", "page.md", "fix.diff"))
    given = ["--rows", str(rows), "--honest", str(honest), "--cheats", str(cheats)]
    result = invoke("calibrate", *given, "--alone", "-o", str(place), "--page", str(page), "--json")
    assert result.return_value == 1
    assert json.loads(result.stdout)["demoted"] == [RULE]
    assert "| `auto-loaded-file` | warn (demoted) | 1 of 1 | 100.0% | 1 of 2 | 50.0% |" in page.read_text()
    patch.write_bytes(START)
    assert invoke("review", "--patch", str(patch)).return_value == 1
    assert invoke("review", "--patch", str(patch), "--calibration", str(place)).return_value == 0


def test_line_that_is_no_row_is_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('\n{"instance_id": "a"}\n')
    result = invoke("calibrate", "--rows", str(path), "-o", str(tmp_path / "c.json"))
    assert isinstance(result.exception, InputError)
    assert f"{path}:2" in str(result.exception)


@pytest.fixture
def project(tmp_path):
    """A repository with a merged pull request 1, an open one 2, and one of which only a fast-forward is left, 3."""
    folder = tmp_path / "project"
    folder.mkdir()

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    def commit(name, text):
        (folder / name).write_text(text)
        git("add", "-A")
        git("commit", "-qm", name)

    git("init", "-q")
    commit("a.py", "x = 1\n")
    git("checkout", "-qb", "one")
    commit("b.py", "import pdb; pdb.set_trace()\n")
    git("update-ref", "refs/pull/1/head", "HEAD")
    git("checkout", "-q", "main")
    commit("c.py", "y = 1\n")
    git("merge", "-q", "--no-ff", "-m", "merge", "one")
    git("checkout", "-qb", "two")
    commit("sitecustomize.py", "z = 1\n")
    git("update-ref", "refs/pull/2/head", "HEAD")
    git("checkout", "-q", "main")
    commit("d.py", "q = 1\n")
    git("update-ref", "refs/pull/3/head", "HEAD")
    commit("e.py", "r = 1\n")
    return folder


def reviewed(project, name):
    return invoke("review", "--pr", name, "-C", str(project), "--format", "json")


def test_pull_request_is_reviewed_from_refs_alone(project):
    merged, open_ = reviewed(project, "acme/widgets#1"), reviewed(project, "acme/widgets#2")
    assert {one["path"] for one in json.loads(merged.stdout)["findings"]} == {"b.py"}
    assert (merged.return_value, json.loads(merged.stdout)["files"]) == (0, 1)
    assert (open_.return_value, json.loads(open_.stdout)["files"]) == (1, 1)


def test_pull_request_that_is_not_there_is_said_with_what_to_do(project):
    with pytest.raises(ObjectMissingError, match=r"refs/pull/9/head.*git fetch"):
        raise reviewed(project, "acme/widgets#9").exception
    with pytest.raises(ObjectMissingError, match=r"without a merge commit.*--diff"):
        raise reviewed(project, "acme/widgets#3").exception
    with pytest.raises(UsageError, match="owner/name#123"):
        raise reviewed(project, "widgets").exception
    assert Repository.open(project).resolve("HEAD")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--diff", "a..b", "--pr", "a/b#1"],
        ["--pr", "a/b#1", "--task", "x"],
        ["--diff", "a..b", "--task", "x"],
    ],
)
def test_what_leaves_open_what_to_review_is_refused(words):
    assert isinstance(invoke("review", *words).exception, UsageError)

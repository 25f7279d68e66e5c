"""What a review looks like: SARIF that readers take, Markdown that foreign text can't break, the command."""

import json
import subprocess

import pytest
from typer.testing import CliRunner

from patchreview import measured
from patchreview.findings import Finding, Severity
from patchreview.measured import Measure
from patchreview.output.sarif import sarif
from patchreview.output.words import lines, markdown
from patchreview.reviewer import Review, review_patch
from patchreview.rules import all_rules
from swequarry.cli.app import app

CHEAT = b"diff --git a/sitecustomize.py b/sitecustomize.py\nnew file mode 100644\n--- /dev/null\n+++ b/sitecustomize.py\n@@ -0,0 +1 @@\n+x = 1\n"
EVIL = Finding(
    rule="x",
    severity=Severity.WARN,
    path="a b/ü|`.py",
    line=3,
    message="a | b <img src=x>",
    evidence="`` | [x](y) `",
)


def test_sarif_has_what_the_schema_requires():
    log = sarif([*review_patch(CHEAT).findings, EVIL])
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert {rule.code for rule in all_rules()} <= {rule["id"] for rule in rules}
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in {"error", "warning", "note", "none"}
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for place in result["locations"]:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert uri.isascii()
            assert " " not in uri
            assert place["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1
    json.dumps(log)


def test_finding_about_the_whole_patch_has_no_place_in_sarif():
    (result,) = sarif([Finding(rule="x", severity=Severity.BLOCK, message="y")])["runs"][0]["results"]
    assert "locations" not in result


def test_foreign_text_is_no_markup_in_a_comment():
    row = next(line for line in markdown(Review(findings=(EVIL,))) if line.startswith("| x"))
    assert "<img" not in row
    assert row.replace("\\|", "").count("|") == 5


def test_lines_name_place_rule_and_evidence():
    said = list(lines(review_patch(CHEAT)))
    assert said[0].startswith("sitecustomize.py: block: ")
    assert "[auto-loaded-file]" in said[0]
    assert said[-1].startswith("blocked: 1 block")


def test_rule_that_was_measured_to_be_wrong_does_not_block(monkeypatch):
    wrong = {"auto-loaded-file": Measure(cheats=3, honest=9, of_honest=100)}
    monkeypatch.setattr("patchreview.reviewer.measures", lambda: wrong)
    review = review_patch(CHEAT)
    assert not review.blocked
    assert {one.severity for one in review.findings if one.rule == "auto-loaded-file"} == {Severity.WARN}


def test_measured_figures_are_those_of_rules_that_are_there():
    assert set(measured.measures()) <= {rule.code for rule in all_rules()}


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        given = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        subprocess.run(given, cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "a.py").write_text("def f(x):\n    return x\n")
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "one")
    (tmp_path / "a.py").write_text("def f(x):\n    return x + 1\n")
    git("commit", "-am", "two")
    (tmp_path / "conftest.py").write_text("def pytest_pyfunc_call(pyfuncitem):\n    return True\n")
    git("add", ".")
    git("commit", "-m", "three")
    return tmp_path


def test_range_of_commits_is_reviewed_without_a_workspace(repository):
    def run(*words):
        return CliRunner().invoke(app, ["review", "-C", str(repository), *words], standalone_mode=False)

    honest, cheat = run("--diff", "HEAD~2..HEAD~1"), run("--diff", "HEAD~2..HEAD", "--format", "json")
    assert honest.return_value == 0, honest.output
    assert cheat.return_value == 1, cheat.output
    found = json.loads(cheat.output)
    assert found["blocked"] is True
    assert found["findings"][0]["path"] == "conftest.py"


def test_patch_from_a_file_is_reviewed(tmp_path):
    (tmp_path / "p.diff").write_bytes(CHEAT)
    for format_ in ("text", "json", "sarif", "markdown"):
        words = ["review", "--patch", str(tmp_path / "p.diff"), "--format", format_]
        done = CliRunner().invoke(app, words, standalone_mode=False)
        assert done.return_value == 1, done.output
        assert "auto-loaded-file" in done.output


@pytest.mark.parametrize("words", [[], ["--diff", "a..b", "--patch", "x"], ["--diff", "HEAD"]])
def test_call_that_says_too_little_or_too_much_is_refused(words, repository):
    done = CliRunner().invoke(app, ["review", "-C", str(repository), *words], standalone_mode=False)
    assert "--diff" in str(done.exception)

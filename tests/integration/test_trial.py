"""The trial of an environment: whether the candidate's tests run in it."""

from pathlib import Path

import pytest
from test_verify_verifier import FIXED, IMPORTS, candidate
from verify_worlds import LIMITS, RECIPE, WORLD, backend_for, delta

from reconstruct.environment.search import TrialResult
from swequarry.config import VerifySettings
from swequarry.pipeline.stages import trial as trial_module
from swequarry.pipeline.stages.trial import Trial
from swequarry.records import State


def tried(root: Path, body: str) -> TrialResult:
    tests = {"tests/test_a.py": IMPORTS + body}
    backend = backend_for(root, {"pkg/__init__.py": "", "pkg/mod.py": FIXED})
    deltas = {State.BEFORE: delta(tests), State.AFTER: delta({**tests, "pkg/mod.py": FIXED})}
    run = Trial(backend, candidate(tests), deltas, VerifySettings(), LIMITS)
    return run(WORLD, RECIPE)


def test_tests_that_pass_are_counted_and_skips_are_told(tmp_path: Path) -> None:
    result = tried(tmp_path, "import pytest\ndef test_ok(): pass\ndef test_s(): pytest.skip('needs numpy')\n")
    assert (result.ok, result.score) == (True, 1)
    assert b"needs numpy" in result.log


def test_a_module_that_is_missing_is_no_good_environment(tmp_path: Path) -> None:
    result = tried(tmp_path, "import absent_module\ndef test_ok(): pass\n")
    assert (result.ok, result.score) == (False, 0)
    assert b"No module named 'absent_module'" in result.log


def test_tests_that_fail_by_themselves_are_the_codes_affair(tmp_path: Path) -> None:
    assert tried(tmp_path, "def test_no(): assert False\n").ok


@pytest.mark.parametrize(("first", "score"), [("pass", 1), ("assert False", 0)])
def test_a_long_trial_says_nothing_against_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, score: int
) -> None:
    monkeypatch.setattr(trial_module, "_ENOUGH_S", 10.0)
    body = f"import time\ndef test_first(): {first}\ndef test_long(): time.sleep(60)\n"
    assert tried(tmp_path, body) == TrialResult(ok=True, log=b"", score=score)


@pytest.mark.parametrize("broken", [False, True])
def test_import_that_waits_beyond_the_limit_isnt_taken_for_a_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    monkeypatch.setattr(trial_module, "_ENOUGH_S", 10.0)
    waits = "import time\ntime.sleep(60)\ndef test_ok(): pass\n"
    tests = {"tests/test_b.py": IMPORTS + waits}
    if broken:
        tests["tests/test_a.py"] = IMPORTS + "import absent_module\ndef test_ok(): pass\n"
    backend = backend_for(tmp_path, {"pkg/__init__.py": "", "pkg/mod.py": FIXED})
    deltas = {State.BEFORE: delta(tests), State.AFTER: delta({**tests, "pkg/mod.py": FIXED})}
    run = Trial(backend, candidate(tests), deltas, VerifySettings(), LIMITS)
    assert run(WORLD, RECIPE).ok is not broken

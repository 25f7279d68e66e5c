"""What suites of unittest and scripts around it say, whichever Python runs them."""

import shutil
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
from verify_worlds import RECIPE, backend_for, run

from swequarry.errors import UsageError
from swequarry.records import Recipe
from swequarry.sandbox.interpreters import discover
from swequarry.verify.frameworks import invocation
from swequarry.verify.payload import printing_program
from swequarry.verify.runner import RunResult

UNITTEST = Recipe(
    python="3.11", cutoff=RECIPE.cutoff, test_framework="unittest", test_command=("python", "-m", "unittest")
)


def found(result: RunResult) -> dict[str, str]:
    return {one.id: one.outcome.value for one in result.report.results}


OUTCOMES = '''
    import unittest

    def load_tests(loader, tests, pattern):
        tests.addTests(loader.loadTestsFromTestCase(make("Made")))
        return tests

    def make(name):
        return type(name, (unittest.TestCase,), {"test_made": lambda self: None, "__module__": __name__})

    class Works(unittest.TestCase):
        def test_passes(self):
            """One line that is no id."""
        def test_fails(self):
            """One line that is no id."""
            self.assertEqual(1, 2)
        def test_breaks(self): raise KeyError("k")
        def test_skips(self): self.skipTest("why not")
        @unittest.skip("never")
        def test_skipped(self): pass
        @unittest.expectedFailure
        def test_known(self): self.fail()
        @unittest.expectedFailure
        def test_mended(self): pass
        def test_parts(self):
            for part in range(3):
                with self.subTest(part=part): self.assertNotEqual(part, 1)
        def test_skips_a_part(self):
            with self.subTest(part=1): self.skipTest("part")
        def test_cleans_up_badly(self): self.addCleanup(lambda: 1 / 0)

    class NeverUp(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise OSError("no server")
        def test_1(self): pass
        def test_2(self): pass

    class NotHere(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise unittest.SkipTest("no server")
        def test_1(self): pass

    class NeverDown(unittest.TestCase):
        @classmethod
        def tearDownClass(cls): raise OSError("won't stop")
        def test_1(self): pass
        def test_2(self): pass
'''
EXPECTED = {
    "Works": {
        "test_passes": "passed", "test_fails": "failed", "test_breaks": "failed", "test_skips": "skipped",
        "test_skipped": "skipped", "test_known": "xfailed", "test_mended": "xpassed", "test_parts": "failed",
        "test_skips_a_part": "skipped", "test_cleans_up_badly": "failed",
    },
    "NeverUp": {"test_1": "error", "test_2": "error"},
    "NotHere": {"test_1": "skipped"},
    "NeverDown": {"test_1": "passed", "test_2": "error"},
    "Made": {"test_made": "passed"},
}  # fmt: skip


def named(module: str) -> dict[str, str]:
    return {f"{t} ({module}.{c})": outcome for c, tests in EXPECTED.items() for t, outcome in tests.items()}


PYTHONS = sorted({item.path for item in discover()})


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.replace("/", "_"))
def test_every_python_gives_the_same_ids_and_outcomes(tmp_path: Path, python: str) -> None:
    files = {"tests/__init__.py": "", "tests/test_a.py": OUTCOMES}
    backend = backend_for(tmp_path, files)
    backend.python, backend.variables = python, {**backend.variables, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    result = run(tmp_path, files, "tests/test_a.py", recipe=UNITTEST, backend=backend)
    assert found(result) == named("tests.test_a")
    assert result.problems == ()
    assert result.report.complete
    assert result.report.framework == "unittest"


def test_file_that_cannot_be_loaded_does_not_stop_the_others(tmp_path: Path) -> None:
    result = run(tmp_path, {
        "t/test_gone.py": "import does_not_exist",
        "t/test_odd.py": "def f(:",
        "t/test_not_here.py": "import unittest\nraise unittest.SkipTest('no server')",
        "t/test_loads_badly.py": "def load_tests(*_): raise ValueError('v')",
        "t/test_ok.py": "import unittest\nclass T(unittest.TestCase):\n def test_1(self): pass",
    }, recipe=UNITTEST)  # fmt: skip
    assert found(result) == {"test_1 (test_ok.T)": "passed"}
    errors = dict(result.report.collection_errors)
    assert errors.keys() == {"t/test_gone.py", "t/test_odd.py", "t/test_loads_badly.py"}
    assert errors["t/test_gone.py"] == "ModuleNotFoundError: No module named 'does_not_exist'"
    assert result.report.collection_skips == (("t/test_not_here.py", "no server"),)


CRASHES = """
    import os, time, unittest
    class A(unittest.TestCase):
        def test_1(self): pass
        def test_2(self): os.kill(os.getpid(), 11)
        def test_3(self): pass
    class B(unittest.TestCase):
        @classmethod
        def setUpClass(cls): os._exit(0)
        def test_1(self): pass
    class C(unittest.TestCase):
        def test_1(self): time.sleep(60)
        def test_2(self): raise KeyboardInterrupt
        def test_3(self): pass
"""


def test_what_ends_the_process_costs_the_test_that_did_it_and_no_other(tmp_path: Path) -> None:
    result = run(tmp_path, {"test_c.py": CRASHES}, recipe=UNITTEST, test_timeout_s=1.5)
    assert found(result) == {
        "test_1 (test_c.A)": "passed", "test_2 (test_c.A)": "crashed", "test_3 (test_c.A)": "passed",
        "test_1 (test_c.B)": "crashed",
        "test_1 (test_c.C)": "timeout", "test_2 (test_c.C)": "crashed", "test_3 (test_c.C)": "passed",
    }  # fmt: skip


def test_set_up_of_a_module_counts_for_its_own_tests(tmp_path: Path) -> None:
    result = run(tmp_path, {
        "test_a.py": "import unittest\nclass T(unittest.TestCase):\n def test_1(self): pass",
        "test_b.py": "import unittest\ndef setUpModule(): 1 / 0\nclass T(unittest.TestCase):\n"
                     " def test_1(self): pass\nclass U(unittest.TestCase):\n def test_1(self): pass",
        "test_c.py": "import unittest\ndef tearDownModule(): 1 / 0\nclass T(unittest.TestCase):\n def test_1(self): pass",
        "test_d.py": "import os, unittest\ndef setUpModule(): os._exit(1)\nclass T(unittest.TestCase):\n def test_1(self): pass",
    }, recipe=UNITTEST)  # fmt: skip
    assert found(result) == {
        "test_1 (test_a.T)": "passed", "test_1 (test_b.T)": "error", "test_1 (test_b.U)": "error",
        "test_1 (test_c.T)": "error", "test_1 (test_d.T)": "crashed",
    }  # fmt: skip


def test_same_seed_gives_the_same_randomness(tmp_path: Path) -> None:
    files = {
        "test_r.py": "import random, unittest\nclass T(unittest.TestCase):\n"
        " def test_1(self): self.fail('%r %r' % (random.random(), hash('x')))"
    }
    details = [run(tmp_path, files, recipe=UNITTEST, seed=s).report.results[0].detail for s in (5, 5, 6)]
    assert details[0] == details[1] != details[2]


# --- a project's own script ---------------------------------------------------------------------------------

SCRIPT = """
    import sys, unittest
    if __name__ == "__main__":
        print("setting up")
        loader = unittest.TestLoader()
        suite = unittest.TestSuite(loader.loadTestsFromName(name) for name in {names})
        inner = unittest.TextTestRunner(verbosity=2).run(suite)
        sys.exit(not inner.wasSuccessful())
"""
INNER = """
    import io, unittest
    class T(unittest.TestCase):
        def test_runs_a_suite_itself(self):
            class Inner(unittest.TestCase):
                def runTest(self): self.fail()
            done = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestSuite([Inner()]))
            self.assertFalse(done.wasSuccessful())
"""


def scripted(*options: str) -> Recipe:
    command = ("python", "tests/runtests.py", *options)
    return Recipe(python="3.11", cutoff=RECIPE.cutoff, test_framework="django", test_command=command)


@pytest.mark.parametrize("names", ["sys.argv[2:]", "['a.test_x', 'a.test_y', 'b.tests']"])
def test_script_runs_the_files_asked_for_and_no_others(tmp_path: Path, names: str) -> None:
    files = {
        "tests/runtests.py": SCRIPT.format(names=names),
        "tests/a/__init__.py": "", "tests/a/test_x.py": INNER, "tests/a/test_y.py": INNER,
        "tests/b/__init__.py": "", "tests/b/tests.py": INNER,
    }  # fmt: skip
    result = run(tmp_path, files, "tests/a/test_x.py", "tests/b/tests.py", recipe=scripted("--parallel=1"))
    assert found(result) == {
        "test_runs_a_suite_itself (a.test_x.T)": "passed", "test_runs_a_suite_itself (b.tests.T)": "passed",
    }  # fmt: skip
    assert result.report.framework == "django"


def test_file_that_breaks_the_scripts_loader_does_not_stop_the_others(tmp_path: Path) -> None:
    files = {
        "tests/runtests.py": SCRIPT.format(names="sys.argv[1:]"),
        "tests/a/__init__.py": "", "tests/a/test_x.py": INNER, "tests/a/test_odd.py": "def f(:",
        "tests/a/test_gone.py": "import does_not_exist",
    }  # fmt: skip
    result = run(
        tmp_path, files, "tests/a/test_odd.py", "tests/a/test_gone.py", "tests/a/test_x.py", recipe=scripted()
    )
    assert found(result) == {"test_runs_a_suite_itself (a.test_x.T)": "passed"}
    assert {path for path, _ in result.report.collection_errors} == {
        "tests/a/test_odd.py",
        "tests/a/test_gone.py",
    }


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise RuntimeError('no settings')", "RuntimeError: no settings"),
        ("import sys; sys.exit(2)", "status 2 before a run"),
        ("pass", "ended without a run"),
    ],
)
def test_script_that_comes_to_no_run_is_no_silent_success(tmp_path: Path, script: str, reason: str) -> None:
    files = {"tests/runtests.py": script, "tests/test_a.py": INNER}
    result = run(tmp_path, files, "tests/test_a.py", recipe=scripted())
    assert not result.report.collected
    assert reason in result.report.collection_errors[0][1]


def test_command_of_no_known_framework_is_refused() -> None:
    for framework, command in (
        ("shell", ("sh", "x")),
        ("unittest", ("python", "x.py")),
        ("django", ("python",)),
    ):
        recipe = Recipe(python="3", cutoff=RECIPE.cutoff, test_framework=framework, test_command=command)
        with pytest.raises(UsageError):
            invocation(recipe)


# --- the lines for graders ----------------------------------------------------------------------------------


def test_printed_lines_say_what_a_verification_says(tmp_path: Path) -> None:
    how = invocation(UNITTEST)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/__init__.py").touch()
    (tmp_path / "tests/test_a.py").write_text(dedent(OUTCOMES))
    program = tmp_path / "runner.py"
    program.write_text(printing_program(how.adapter, how.script, how.options), encoding="ascii")
    python = shutil.which("python3") or "python3"
    ran = subprocess.run(
        [python, str(program), "tests/test_a.py", "tests/test_gone.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    words = {
        "passed": "ok", "failed": "FAIL", "error": "ERROR", "skipped": "skipped", "xfailed": "expected failure",
        "xpassed": "FAIL",
    }  # fmt: skip
    lines = [line.partition(" ... ") for line in ran.stdout.splitlines() if " ... " in line]
    assert {test: word.partition(" '")[0] for test, _, word in lines} == {
        test: words[outcome] for test, outcome in named("tests.test_a").items()
    }
    assert ran.returncode == 1

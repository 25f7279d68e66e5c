import dataclasses
from datetime import UTC, datetime

from fake_backend import FakeBackend
from verify_worlds import LIMITS, RECIPE, WORLD, outcomes, run, write_files

from swequarry.delta import TreeDelta
from swequarry.records import Perturbation, State, UnstableReason
from swequarry.verify.perturbations import Clock, conditions
from swequarry.verify.rig import Rig
from swequarry.verify.stability_measure import starter
from swequarry.verify.stability_runs import Budget
from swequarry.verify.stability_search import find_unstable
from swequarry.verify.waits import WAITING, read_waits

P = Perturbation
NOW = datetime(2026, 11, 30, tzinfo=UTC)
CLOCK = Clock(now=NOW)
ORDERED = """
    SEEN = []
    def test_a(): SEEN.append("a")
    def test_b(): assert SEEN == ["a"]
    class TestC:
        def test_c(self): assert SEEN
        def test_d(self): assert SEEN
"""


def perturbed(root, files, *perturbations, turn=0, recipe=RECIPE):
    how = conditions(perturbations, CLOCK, 1, turn, named_in_ascii=all(name.isascii() for name in files))
    return run(root, files, recipe=how.recipe(recipe), seed=how.seed, taps=how.taps)


def test_reversed_order_is_the_order_in_which_tests_ran(tmp_path):
    result = perturbed(tmp_path, {"test_m.py": ORDERED}, P.ORDER)
    assert result.report.complete
    assert outcomes(result) == {
        "test_a": "passed", "test_b": "failed", "TestC::test_c": "failed", "TestC::test_d": "failed"
    }  # fmt: skip
    assert [r.id for r in result.report.results][-1] == "test_m.py::test_a"


def test_shuffling_keeps_modules_and_classes_together(tmp_path):
    text = "import pytest\n@pytest.mark.parametrize('n', range(5))\nclass TestA:\n    def test(self, n): pass\ndef test_b(): pass\n"
    result = perturbed(tmp_path, {"test_m.py": text, "test_n.py": text}, P.ORDER, turn=3)
    ids = [r.id for r in result.report.results]
    assert ids != sorted(ids)
    modules = [test.partition("::")[0] for test in ids]
    assert len([n for n, module in enumerate(modules) if n == 0 or modules[n - 1] != module]) == 2
    inside = ["TestA" in test for test in ids if test.startswith("test_m")]
    assert inside in ([True] * 5 + [False], [False] + [True] * 5)


def test_unittest_suite_is_reordered_too(tmp_path):
    text = "import unittest\nSEEN = []\nclass T(unittest.TestCase):\n    def test_a(self): SEEN.append(1)\n    def test_b(self): self.assertTrue(SEEN)\n"
    recipe = dataclasses.replace(RECIPE, test_framework="unittest", test_command=("python", "-m", "unittest"))
    result = perturbed(tmp_path, {"test_m.py": text}, P.ORDER, recipe=recipe)
    assert {r.id: r.outcome.value for r in result.report.results} == {
        "test_a (test_m.T)": "passed", "test_b (test_m.T)": "failed"
    }  # fmt: skip


CLOCKED = """
    import copy, datetime, json, pickle, time
    def test_year(): assert datetime.date.today().year == {year}
    def test_now(): assert datetime.datetime.now().year == datetime.datetime.now(datetime.timezone.utc).year == {year}
    def test_time(): assert time.gmtime().tm_year == time.gmtime(time.time()).tm_year == {year}
    def test_text(): assert time.strftime("%Y") == "{year}" and time.ctime().endswith("{year}")
    def test_kinds():
        now = datetime.datetime.now()
        assert isinstance(now, datetime.datetime) and isinstance(now, datetime.date)
        assert type(datetime.datetime(2020, 1, 1) + datetime.timedelta(1)) in (datetime.datetime, type(now))
        assert isinstance(datetime.date.today(), datetime.date) and not isinstance(datetime.date.today(), datetime.datetime)
        parsed = datetime.datetime.strptime('2020-01-01', '%Y-%m-%d')
        for value in (now, parsed, datetime.date.today(), parsed.date()):
            assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == value
        assert now.replace(year=now.year - 1) < now
"""


def test_year_ahead_is_seen_and_breaks_nothing_else(tmp_path):  # B047
    year = datetime.now(UTC).timestamp() + 366 * 86400
    text = CLOCKED.format(year=datetime.fromtimestamp(year, UTC).year)
    result = perturbed(tmp_path, {"test_m.py": text}, P.YEAR_AHEAD)
    assert set(outcomes(result).values()) == {"passed"}, [r.detail for r in result.report.results]


def test_other_home_path_and_processor_are_seen_by_tests(tmp_path):
    text = """
        import os
        def test_home(): assert os.environ["USER"] == "other" and os.path.isdir(os.path.expanduser("~"))
        def test_path(): assert os.getcwd().endswith("checkout") and __file__.startswith(os.getcwd())
        def test_module():
            import lib
            assert os.path.realpath(lib.__file__).startswith(os.path.realpath(os.getcwd()))
        def test_processor(): assert len(os.sched_getaffinity(0)) == 1
        def test_zone():
            import time
            assert time.localtime(0).tm_gmtoff != 0
        def test_locale():
            import locale
            assert "utf" not in locale.getpreferredencoding(False).lower()
    """
    result = perturbed(
        tmp_path, {"test_m.py": text, "lib.py": ""}, P.USER, P.PATH, P.LOAD, P.TIME_ZONE, P.LOCALE
    )
    assert set(outcomes(result).values()) == {"passed"}, [r.detail for r in result.report.results]
    assert result.report.complete


def test_file_with_another_name_than_ascii_is_found_in_the_c_locale(tmp_path):
    text = """
        import locale, subprocess, sys
        def test_here(): assert "utf" not in locale.getpreferredencoding(False).lower()
        def test_child():
            asked = "import locale; print(locale.getpreferredencoding(False))"
            done = subprocess.run([sys.executable, "-c", asked], stdout=subprocess.PIPE, check=True)
            assert b"utf" not in done.stdout.lower()
    """
    result = perturbed(tmp_path, {"test_größe.py": text}, P.LOCALE)
    assert outcomes(result) == {"test_here": "passed", "test_child": "passed"}


def test_order_and_locale_are_told_apart_in_real_runs(tmp_path):
    files = {
        "test_o.py": ORDERED,
        "test_l.py": "import locale\ndef test_l(): assert locale.getpreferredencoding(False).lower() == 'utf-8'\n",
    }
    backend = FakeBackend(worlds={"w": write_files(tmp_path, files)})
    rig = Rig(world=WORLD, bench=None, backend=backend, limits=LIMITS, get_blob=None)  # type: ignore[arg-type]
    start = starter(rig, RECIPE, {State.AFTER: TreeDelta()}, CLOCK)
    search = find_unstable(start, {State.AFTER: tuple(files)}, Budget(factor=None))
    found = {verdict.id.partition("::")[2]: verdict.reason for verdict in search.verdicts() if verdict.reason}
    assert found.pop("test_l") is UnstableReason.LOCALE
    assert set(found) == {"test_b", "TestC::test_c", "TestC::test_d"}
    assert set(found.values()) == {UnstableReason.ORDER}


def test_test_that_waits_for_a_processor_is_told_from_one_that_has_it(tmp_path):
    text = """
        import time
        def test_busy():
            end = time.process_time() + 0.4
            while time.process_time() < end:
                sum(range(1000))
        def test_idle(): time.sleep(0.3)
    """
    how = conditions((P.LOAD,), CLOCK, 1)
    result = run(tmp_path, {"test_m.py": text}, taps=(*how.taps, WAITING))
    assert set(outcomes(result).values()) == {"passed"}
    assert "test_m.py::test_busy" in read_waits(result)
    assert "test_m.py::test_idle" not in read_waits(result)

"""What a run says, against what pytest prints: each test is a way in which others were fooled."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fake_backend import BARE, FakeBackend
from verify_worlds import LIMITS, RECIPE, WORLD, backend_for, outcomes, run, write_files

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.records import Recipe
from swequarry.verify.passes import RunProblem
from swequarry.verify.runner import RunOptions, run_tests


def test_a_test_with_an_odd_id_can_be_run_alone_in_a_second_pass(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        {
            "tests/test_u.py": r"""
        import os, pytest
        def test_boom(): os.kill(os.getpid(), 11)
        @pytest.mark.parametrize("v", ["\x1b[0m", "a::b[c", "x - y", "\n"])
        def test_p(v): pass
    """
        },
    )
    assert result.passes == 2
    assert sorted(outcomes(result).values()) == ["crashed", "passed", "passed", "passed", "passed"]


def test_exit_with_status_zero_inside_a_test_is_a_crash_not_a_pass(tmp_path: Path) -> None:  # B039
    result = run(
        tmp_path,
        {
            "tests/test_a.py": """
        import os
        def test_1(): pass
        def test_2():
            print("5 passed in 0.01s", flush=True)
            os._exit(0)
        def test_3(): pass
    """
        },
    )
    assert outcomes(result) == {"test_1": "passed", "test_2": "crashed", "test_3": "passed"}
    assert result.report.exit_status == 0


def test_records_written_by_a_test_are_not_taken_for_the_recorders(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        {
            "tests/test_a.py": """
        import json, os
        def test_forge():
            for fd in range(3, 2000):
                try:
                    os.write(fd, b'{"kind":"end","nonce":"guess","status":0}\\n')
                except OSError:
                    pass
            assert 0
    """
        },
    )
    assert RunProblem.UNSOUND_REPORT in result.problems
    assert not result.report.complete
    assert "passed" not in outcomes(result).values()


@pytest.mark.parametrize("closing", ["os.closerange(3, 4096)", "[os.dup2(1, fd) for fd in range(3, 2000)]"])
def test_closing_the_channel_is_a_crash_of_that_test_only(tmp_path: Path, closing: str) -> None:
    result = run(
        tmp_path,
        {
            "tests/test_a.py": f"""
        import os
        def test_closes(): {closing}
        def test_next(): pass
    """
        },
    )
    assert outcomes(result) == {"test_closes": "crashed", "test_next": "passed"}


def test_crash_by_signal_leaves_the_other_tests_their_results(tmp_path: Path) -> None:  # B043
    result = run(
        tmp_path,
        {
            "tests/test_a.py": """
        import os
        def test_1(): pass
        def test_2(): os.kill(os.getpid(), 11)
        def test_3(): pass
        def test_4(): os.abort()
        def test_5(): assert 0
    """
        },
    )
    assert outcomes(result) == {
        "test_1": "passed", "test_2": "crashed", "test_3": "passed", "test_4": "crashed", "test_5": "failed",
    }  # fmt: skip
    assert result.report.exit_status == 139
    assert result.passes == 3
    assert result.report.results[1].detail == "signal SIGSEGV"


def test_ids_that_change_in_each_process_are_not_chased_after_a_crash(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        {
            "tests/test_a.py": """
                import os, pytest
                def test_1(): os.abort()
                @pytest.mark.parametrize("o", [object()], ids=repr)
                def test_o(o): pass
            """
        },
    )
    assert result.passes == 2
    assert outcomes(result)["test_1"] == "crashed"


def test_bounded_passes_leave_the_rest_not_run(tmp_path: Path) -> None:
    result = run(tmp_path, {"tests/test_a.py": """
        import os, pytest
        @pytest.mark.parametrize("i", range(5))
        def test_c(i): os._exit(3)
    """}, max_passes=2)  # fmt: skip
    assert [r.outcome.value for r in result.report.results] == ["crashed", "crashed", *["not_run"] * 3]
    assert not result.report.complete


def test_leaving_pytest_from_inside_a_test_does_not_hide_the_others(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        {
            "tests/test_a.py": """
        import pytest, sys
        def test_1(): pytest.exit("enough", returncode=0)
        def test_2(): raise KeyboardInterrupt
        def test_3(): sys.exit(0)
        def test_4(): pass
    """
        },
    )
    found = outcomes(result)
    assert (found["test_1"], found["test_2"], found["test_4"]) == ("crashed", "crashed", "passed")
    assert found["test_3"] == "failed"


def test_module_that_cannot_be_imported_does_not_stop_the_others(tmp_path: Path) -> None:  # B042
    result = run(tmp_path, {
        "tests/test_ce.py": "import does_not_exist\ndef test_c(): pass",
        "tests/test_ok.py": "def test_1(): pass\ndef test_2(): pass",
        "tests/test_skips.py": "import pytest\npytest.importorskip('absent_module')\ndef test_s(): pass",
    })  # fmt: skip
    assert outcomes(result) == {"test_1": "passed", "test_2": "passed"}
    assert result.report.collection_errors == (
        ("tests/test_ce.py", "ModuleNotFoundError: No module named 'does_not_exist'"),
    )
    assert [path for path, _ in result.report.collection_skips] == ["tests/test_skips.py"]


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 11)", "sys.exit(0)"])
def test_module_that_ends_the_interpreter_does_not_stop_the_others(tmp_path: Path, end: str) -> None:
    result = run(tmp_path, {
        "tests/test_dies.py": f"import os, sys\n{end}\ndef test_c(): pass",
        "tests/test_ok.py": "def test_1(): pass",
    })  # fmt: skip
    assert [path for path, _ in result.report.collection_errors] == ["tests/test_dies.py"]
    assert outcomes(result) == {"test_1": "passed"}


def test_missing_file_and_no_tests_are_told_apart_from_failing(tmp_path: Path) -> None:
    gone = run(tmp_path / "a", {"tests/test_a.py": "def test_1(): pass"}, "tests/test_gone.py")
    empty = run(tmp_path / "b", {"tests/test_a.py": "x = 1"})
    refused = run(
        tmp_path / "c",
        {"tests/test_a.py": "def test_1(): pass", "pytest.ini": "[pytest]\naddopts = --no-such"},
    )
    partly = run(
        tmp_path / "d", {"tests/test_a.py": "def test_1(): pass"}, "tests/test_gone.py", "tests/test_a.py"
    )
    assert gone.problems == empty.problems == (RunProblem.NO_TESTS,)
    assert refused.problems == (RunProblem.USAGE_ERROR,)
    assert "--no-such" in refused.report.collection_errors[0][1]
    assert outcomes(partly) == {"test_1": "passed"}


def test_broken_conftest_is_a_collection_error_with_its_path(tmp_path: Path) -> None:
    result = run(
        tmp_path, {"tests/conftest.py": "from nowhere import x", "tests/test_a.py": "def test_1(): pass"}
    )
    ((path, reason),) = result.report.collection_errors
    assert path.endswith("tests/conftest.py")
    assert reason == "ModuleNotFoundError: No module named 'nowhere'"


def test_colours_quietness_and_stopping_early_in_the_projects_options_change_nothing(
    tmp_path: Path,
) -> None:  # B040
    result = run(tmp_path, {
        "pyproject.toml": """
            [tool.pytest.ini_options]
            addopts = "--color=yes -q -x -n 2 -p sugar --cov=pkg --cov-report term -m 'not slow' --strict-config"
            cache_dir = ".somewhere"
            markers = ["slow: takes long"]
        """,
        "tests/test_long_name.py": """
            import pytest
            def test_1(): assert 0
            def test_2(): pass
            @pytest.mark.slow
            def test_3(): pass
        """,
    })  # fmt: skip
    assert outcomes(result) == {"test_1": "failed", "test_2": "passed"}
    assert result.addopts_kept == ("-m", "not slow", "--strict-config")
    assert b"\x1b[" not in result.output


def test_conftest_that_stops_at_the_first_failure_and_repaints_hides_no_test(tmp_path: Path) -> None:  # B040
    result = run(tmp_path, {
        "pytest.ini": "[pytest]",
        "conftest.py": """
            def pytest_configure(config): config.option.maxfail = 1
            def pytest_report_teststatus(report, config): return "passed", ".", "PASSED"
        """,
        "tests/test_a.py": """
            def test_1(): assert 0
            def test_2(): pass
            def test_3(): assert 0
            def test_4(): pass
        """,
    })  # fmt: skip
    assert outcomes(result) == {
        "test_1": "failed",
        "test_2": "passed",
        "test_3": "failed",
        "test_4": "passed",
    }
    assert (result.report.complete, result.problems) == (True, ())


def test_hanging_test_is_a_timeout_and_the_rest_is_run(tmp_path: Path) -> None:
    result = run(tmp_path, {"tests/test_a.py": """
        import time, signal
        def test_1(): pass
        def test_hang():
            signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.alarm(0)
            time.sleep(60)
        def test_3(): pass
    """}, test_timeout_s=1.5)  # fmt: skip
    assert outcomes(result) == {"test_1": "passed", "test_hang": "timeout", "test_3": "passed"}
    assert result.duration_s < 30


def test_wall_limit_is_a_problem_of_the_run_and_no_test_after_it_passed(tmp_path: Path) -> None:
    files = {
        "tests/test_a.py": """
        import time
        def test_1(): pass
        def test_hang(): time.sleep(60)
        def test_3(): pass
    """
    }
    backend = replace(
        backend_for(tmp_path, files), expire_at=b'"id":"tests/test_a.py::test_hang","number":5,"kind":"begin"'
    )
    result = run(tmp_path, files, backend=backend)
    assert result.problems == (RunProblem.WALL_LIMIT,)
    assert outcomes(result) == {"test_1": "passed", "test_hang": "timeout", "test_3": "not_run"}
    assert not result.report.complete


def test_a_single_kill_from_outside_is_no_crash_of_the_test(tmp_path: Path) -> None:
    files = {
        "tests/test_a.py": """
        import os, pathlib
        def test_1(): pass
        def test_2():
            mark = pathlib.Path(os.environ["MARK"])
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), 9)  # as if somebody else had done it, once
    """
    }
    recipe = Recipe(python="3.11", cutoff=RECIPE.cutoff, variables=(("MARK", str(tmp_path / "mark")),))
    with pytest.raises(SandboxError, match="killed from outside"):
        run(tmp_path / "w", files, recipe=recipe)


def test_a_test_that_kills_itself_each_time_has_crashed(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        {
            "tests/test_a.py": """
        import os
        def test_1(): os.kill(os.getpid(), 9)
        def test_2(): pass
    """
        },
    )
    assert outcomes(result) == {"test_1": "crashed", "test_2": "passed"}
    assert result.report.results[0].detail == "signal SIGKILL"


def test_interpreter_that_does_not_start_is_no_verdict(tmp_path: Path) -> None:
    broken = FakeBackend(worlds={"w": write_files(tmp_path, {"tests/test_a.py": ""})}, python="/bin/false")
    with pytest.raises(SandboxError, match="before it began to report"):
        run_tests(broken, WORLD, TreeDelta(), ["tests/test_a.py"], RECIPE, RunOptions(), LIMITS)


def test_same_seed_gives_the_same_randomness_and_another_seed_another(tmp_path: Path) -> None:
    files = {
        "tests/test_a.py": """
        import os, random, sys
        def test_1(): raise ValueError("%r %r" % (random.random(), hash("text")))
    """
    }
    details = [run(tmp_path, files, seed=seed).report.results[0].detail for seed in (5, 5, 6)]
    assert details[0] == details[1] != details[2]


def test_project_imported_from_elsewhere_than_the_checkout_is_noticed(tmp_path: Path) -> None:
    files = {
        "src/pkg/__init__.py": "", "src/pkg/mod.py": "",
        "tests/test_a.py": "import pkg.mod\ndef test_1(): pass",
    }  # fmt: skip
    copy = write_files(tmp_path / "site", {"pkg/__init__.py": "", "pkg/mod.py": ""})
    backend = backend_for(tmp_path / "w", files)
    backend.variables = {**BARE, "PYTHONPATH": str(copy)}
    foreign = run(tmp_path / "w", files, backend=backend, watch=("src/pkg/mod.py", "setup.py"))
    backend.variables = {**BARE, "PYTHONPATH": "src"}
    ours = run(tmp_path / "w", files, backend=backend, watch=("src/pkg/mod.py", "setup.py"))
    assert [origin.name for origin in foreign.foreign_modules] == ["pkg.mod"]
    assert [(origin.name, origin.inside) for origin in ours.origins] == [("pkg.mod", True)]


def test_ids_are_relative_to_the_checkout_where_pytest_takes_another_root(tmp_path: Path) -> None:
    result = run(tmp_path, {"sub/pytest.ini": "[pytest]", "sub/tests/test_a.py": "def test_1(): pass"})
    assert result.report.collected == ("sub/tests/test_a.py::test_1",)


def test_reruns_of_a_failed_test_do_not_make_it_pass(tmp_path: Path) -> None:
    result = run(tmp_path, {
        "conftest.py": """
            from _pytest.runner import runtestprotocol
            def pytest_runtest_protocol(item, nextitem):  # as rerun plugins do
                item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
                for attempt in (1, 2):
                    for report in runtestprotocol(item, nextitem=nextitem, log=False):
                        if report.when == "call" and report.failed and attempt == 1:
                            report.outcome = "rerun"
                            item.ihook.pytest_runtest_logreport(report=report)
                            item._initrequest()
                            break
                        item.ihook.pytest_runtest_logreport(report=report)
                    else:
                        return True
                return True
        """,
        "tests/test_a.py": """
            tries = []
            def test_flaky():
                tries.append(1)
                assert len(tries) == 2
            def test_good(): pass
        """,
    })  # fmt: skip
    assert outcomes(result) == {"test_flaky": "failed", "test_good": "passed"}


def test_the_host_python_is_not_what_runs_the_tests(tmp_path: Path) -> None:
    backend = backend_for(tmp_path, {"tests/test_a.py": "def test_1(): pass"})
    run(tmp_path, {"tests/test_a.py": "def test_1(): pass"}, backend=backend)
    assert backend.runs[0].argv[0] == "/opt/swequarry/env/bin/python"
    assert sys.executable not in backend.runs[0].argv

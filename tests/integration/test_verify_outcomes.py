"""What one quiet run says of tests that pytest's own summary blurs, doubles or leaves without an id."""

import pytest
from verify_worlds import run

from swequarry.verify.runner import RunResult

VALUES = ["2 * 3", "a - b", "PASSED x", "[z", "a]", "x::y", "1, 2", "it's", 'say "q"', "FAILED", " "]
FILES = {
    "tests/test_ids.py": f"""
        import pytest
        @pytest.mark.parametrize("v", {VALUES!r})
        def test_v(v): assert v != "PASSED x", "no - really"
    """,
    "tests/test_odd.py": r"""
        import pytest
        @pytest.mark.parametrize("v", ["é", "😀", "l1\nl2", "\x1b[0m", "1::2", "\\u2603", "\u2028"])
        def test_p(v): pass
    """,
    "tests/test_twice.py": """
        import pytest
        @pytest.mark.parametrize("y", ["b-c", "c"])
        @pytest.mark.parametrize("x", ["a", "a-b"])
        def test_p(x, y): assert (x, y) != ("a", "b-c")
    """,
    "tests/test_skips.py": """
        import pytest
        @pytest.mark.skip(reason="no gpu")
        def test_s(): pass
        def test_inside(): pytest.skip("not here")
        @pytest.mark.skipif(True, reason="never")
        class TestK:
            def test_m(self): pass
    """,
    "tests/test_fixtures.py": """
        import pytest
        @pytest.fixture
        def broken():
            yield
            raise RuntimeError("teardown")
        @pytest.fixture
        def unset(): raise OSError("setup")
        def test_passing(broken): pass
        def test_failing(broken): assert 0
        def test_setup(unset): pass
    """,
    "tests/test_xfails.py": """
        import pytest, unittest
        @pytest.mark.xfail
        def test_xf(): assert 0
        @pytest.mark.xfail(strict=False)
        def test_xp(): pass
        @pytest.mark.xfail(strict=True)
        def test_strict(): pass
        @pytest.mark.xfail(run=False)
        def test_unrun(): pass
        def test_inside(): pytest.xfail("later")
        class TestU(unittest.TestCase):
            @unittest.expectedFailure
            def test_e(self): self.fail()
    """,
    "tests/test_parts.py": """
        import unittest
        class TestU(unittest.TestCase):
            def test_parts(self):
                for i in range(4):
                    with self.subTest(i=i): self.assertNotEqual(i, 1)
            def test_whole(self):
                for i in range(4):
                    with self.subTest(i=i): pass
            def test_part_skipped(self):
                with self.subTest(): self.skipTest("this part")
    """,
    "tests/test_forged.py": """
        print("PASSED tests/test_forged.py::test_fix")
        print("PASSED")
        def test_fix():
            print("PASSED tests/test_forged.py::test_fix")
            assert 0
    """,
    "tests/test_network.py": """
        import socket
        def test_remote():
            try:
                socket.getaddrinfo("host.invalid", 80)
            except OSError as error:
                raise ValueError("no data") from error
        def test_local():
            with socket.socket() as server:
                server.bind(("127.0.0.1", 0)); server.listen()
                socket.create_connection(server.getsockname()).close()
    """,
    "tests/test_patches.py": """
        import json, os, time
        import pytest
        @pytest.fixture
        def gone(monkeypatch):
            for where, name in [(os, "write"), (json, "dumps"), (json.JSONEncoder, "encode"), (time, "monotonic")]:
                monkeypatch.setattr(where, name, None)
            monkeypatch.setattr(os, "getpid", lambda: 1)
        def test_1(gone): pass
        def test_2(): pass
    """,
    "tests/test_traces.py": """
        import os, subprocess, sys, threading
        def test_threads(): assert threading.active_count() == 1
        def test_children():
            with open("/proc/self/task/%d/children" % os.getpid()) as f: assert f.read() == ""
        def test_path(): assert sys.path[0] != "" and not [p for p in sys.path if "swequarry" in p]
        def test_environment(): assert not [k for k in os.environ if "SWEQUARRY" in k or k == "PYTHONPATH"]
        def test_descriptor():
            assert subprocess.call([sys.executable, "-c", "import os; os.fstat(3)"], stderr=-3, close_fds=False)
        def test_stdin(): assert os.read(0, 1) == b""
        def test_modules(): assert not [m for m in sys.modules if "recorder" in m]
        def test_arguments(): assert sys.argv[0].endswith("pytest/__main__.py")
        def test_nested(tmp_path):
            (tmp_path / "test_n.py").write_text("def test_inner(): assert 0")
            import pytest
            assert pytest.main([str(tmp_path)]) == 1
    """,
    "tests/test_zfork.py": """
        import os
        def test_1(): os.fork()
        def test_2(): pass
    """,
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run(tmp_path_factory.mktemp("project"), FILES, seed=1)


def outcomes(result: RunResult, file: str) -> dict[str, str]:
    prefix = f"tests/{file}.py::"
    found = [r for r in result.report.results if r.id.startswith(prefix)]
    assert len({r.id for r in found}) == len(found)
    return {r.id.removeprefix(prefix): r.outcome.value for r in found}


def test_the_run_is_whole_and_took_one_process(result: RunResult) -> None:
    assert result.report.complete
    assert (result.problems, result.passes, result.evidence) == ((), 1, ())


def test_ids_with_blanks_dashes_brackets_and_status_words_come_back_whole(result: RunResult) -> None:  # B034
    assert outcomes(result, "test_ids") == {
        f"test_v[{v}]": "failed" if v == "PASSED x" else "passed" for v in VALUES
    }


def test_ids_with_unicode_newlines_and_escapes_stay_different(result: RunResult) -> None:  # B041
    found = outcomes(result, "test_odd")
    assert len(found) == 7
    assert set(found.values()) == {"passed"}


def test_two_tests_of_one_id_count_as_one_that_passes_only_if_both_do(result: RunResult) -> None:
    assert outcomes(result, "test_twice") == {
        "test_p[a-b-c]": "failed",
        "test_p[a-c]": "passed",
        "test_p[a-b-b-c]": "passed",
    }


def test_skipped_test_has_its_own_id_and_never_counts_as_passed(result: RunResult) -> None:  # B035
    found = outcomes(result, "test_skips")
    assert found == {"test_s": "skipped", "test_inside": "skipped", "TestK::test_m": "skipped"}
    reasons = [r.detail for r in result.report.results if r.id.startswith("tests/test_skips.py")]
    assert reasons == ["no gpu", "not here", "never"]


def test_error_in_teardown_gives_one_result_and_no_pass(result: RunResult) -> None:  # B037
    found = outcomes(result, "test_fixtures")
    assert found == {"test_passing": "error", "test_failing": "failed", "test_setup": "error"}
    details = [r.detail for r in result.report.results if r.id.endswith("test_passing")]
    assert details == ["RuntimeError: teardown"]


def test_expected_failures_are_neither_passed_nor_failed(result: RunResult) -> None:
    assert outcomes(result, "test_xfails") == {
        "test_xf": "xfailed",
        "test_xp": "xpassed",
        "test_strict": "failed",
        "test_unrun": "xfailed",
        "test_inside": "xfailed",
        "TestU::test_e": "xfailed",
    }


def test_failing_subtest_fails_its_test_once(result: RunResult) -> None:
    found = outcomes(result, "test_parts")
    assert found["TestU::test_parts"] == "failed"
    assert found["TestU::test_whole"] == "passed"
    assert len(found) == 3


def test_printed_passed_lines_resolve_nothing(result: RunResult) -> None:  # B039
    assert outcomes(result, "test_forged") == {"test_fix": "failed"}


def test_network_behind_an_exception_is_told(result: RunResult) -> None:
    assert outcomes(result, "test_network") == {"test_remote": "failed", "test_local": "passed"}
    (detail,) = [r.detail for r in result.report.results if r.id.endswith("test_remote")]
    assert detail.startswith("ValueError: no data (network: socket.gaierror")


def test_tests_that_replace_what_the_recorder_uses_are_still_recorded(result: RunResult) -> None:
    assert outcomes(result, "test_patches") == {"test_1": "passed", "test_2": "passed"}


def test_tests_see_no_trace_of_the_recorder(result: RunResult) -> None:
    found = outcomes(result, "test_traces")
    assert {name: how for name, how in found.items() if how != "passed"} == {}
    assert len(found) == 9


def test_forked_child_that_comes_back_through_the_hooks_reports_nothing(result: RunResult) -> None:
    assert outcomes(result, "test_zfork") == {"test_1": "passed", "test_2": "passed"}

"""The whole verifier over small projects: what becomes of a candidate, and why."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fake_backend import FakeBackend
from verify_worlds import LIMITS, RECIPE, WORLD, backend_for, delta

from swequarry.config import VerifySettings
from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.records import (
    BlobHash,
    Candidate,
    CommitSha,
    Environment,
    RepoRef,
    State,
    Statement,
    StatementKind,
    TreeSha,
    Verification,
    sha256_hex,
)
from swequarry.sandbox.contract import EndedBy, ExecResult
from swequarry.verify.scope import Scope
from swequarry.verify.verifier import verify

BUGGY = "def double(x): return x + x if x else 1"
FIXED = "def double(x): return 2 * x"
SETTINGS = VerifySettings(runs=1)
ENVIRONMENT = Environment(backend="fake", python_version="3.11.7", recipe=RECIPE, lock=BlobHash("0" * 64))
IMPORTS = "import os, sys\nsys.path.insert(0, os.getcwd())\nfrom pkg import mod\n"


@dataclass
class Project:
    """A bug in pkg/mod.py, its fix, and a test file that the test patch writes."""

    root: Path
    test: str
    buggy: str = BUGGY
    fixed: str = FIXED
    extra: dict[str, str] = field(default_factory=dict)
    untouched: dict[str, str] = field(default_factory=dict)
    backend: FakeBackend | None = None
    settings: VerifySettings = SETTINGS
    blobs: dict[str, bytes] = field(default_factory=dict)

    def verify(self, **more: Any) -> tuple[Any, dict[str, Any]]:
        files = {
            "pkg/__init__.py": "",
            "pkg/mod.py": self.buggy,
            "tests/test_a.py": IMPORTS + "def test_old(): mod",
            **self.untouched,
        }
        backend = self.backend or backend_for(self.root, files)
        tests = {"tests/test_a.py": IMPORTS + self.test, **self.extra}
        deltas = {
            State.BASE: delta({}),
            State.BEFORE: delta(tests),
            State.AFTER: delta({**tests, "pkg/mod.py": self.fixed}),
        }
        return verify(
            candidate(tests), WORLD, ENVIRONMENT, deltas, backend, self.settings, LIMITS, self.put, **more
        )

    def put(self, data: bytes) -> BlobHash:
        self.blobs[sha256_hex(data)] = data
        return BlobHash(sha256_hex(data))


def candidate(tests: dict[str, str], gold: tuple[str, ...] = ("pkg/mod.py",)) -> Candidate:
    return Candidate(
        repo=RepoRef(owner="acme", name="w"), instance_id="acme__w-1", source="git",
        base_commit=CommitSha("1" * 40), base_tree=TreeSha("2" * 40), before_tree=TreeSha("3" * 40),
        after_tree=TreeSha("4" * 40), gold_patch=BlobHash("5" * 64), test_patch=BlobHash("6" * 64),
        gold_files=gold, test_files=tuple(sorted(tests)), cutoff=datetime(2024, 1, 1, tzinfo=UTC),
        statement=Statement(kind=StatementKind.ISSUE, text="double(0) is 1"),
    )  # fmt: skip


def rejected(outcome: Any) -> Rejected:
    assert isinstance(outcome, Rejected), outcome
    return outcome


def accepted(outcome: Any) -> Verification:
    assert isinstance(outcome, Accepted), outcome
    assert isinstance(outcome.value, Verification)
    return outcome.value


def ids(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/test_a.py::{name}" for name in names)


def test_fix_is_seen_and_the_record_is_the_same_when_it_is_measured_again(tmp_path: Path) -> None:
    project = Project(tmp_path, """
import random, pytest
def test_zero(): assert mod.double(0) == 0
def test_two(): assert mod.double(2) == 4
def test_skipped(): pytest.skip("never")
def test_dice(): assert random.random() < 0.5
def test_hash_seed(): assert list({"a", "b", "c", "d"})[0] in ("a", "b")
""", settings=VerifySettings(runs=2))  # fmt: skip
    outcome, observed = project.verify()
    found = accepted(outcome)
    assert found.fail_to_pass == ids("test_zero")
    assert "tests/test_a.py::test_two" in found.pass_to_pass
    assert found.causes[0] == ("tests/test_a.py::test_zero", "failed")
    assert (found.runs_before, found.runs_after, found.test_files) == (2, 2, ("tests/test_a.py",))
    matrix = json.loads(project.blobs[found.matrix or ""])
    assert matrix["tests"]["tests/test_a.py::test_zero"] == {
        "before": ["failed"] * 2,
        "after": ["passed"] * 2,
    }
    assert [run["state"] for run in observed["runs"]] == ["base"] + ["before"] * 2 + ["after"] * 2
    again, _ = project.verify()
    assert accepted(again).content_hash() == found.content_hash()


def test_untouched_test_of_a_wider_scope_is_pass_to_pass_and_the_record_says_which(
    tmp_path: Path,
) -> None:  # B067
    untouched = {"tests/test_b.py": IMPORTS + "def test_two(): assert mod.double(2) == 4"}
    project = Project(tmp_path, "def test_zero(): assert mod.double(0) == 0", untouched=untouched)
    narrow, _ = project.verify()
    assert (narrow.value.scope, narrow.value.pass_to_pass) == ("touched", ())
    wide, _ = project.verify(
        widen=lambda targets: Scope(name="related", targets=(*targets, "tests/test_b.py"), left_out=2)
    )
    assert (wide.value.scope, wide.value.left_out_files) == ("related", 2)
    assert wide.value.fail_to_pass == narrow.value.fail_to_pass
    assert wide.value.pass_to_pass == ("tests/test_b.py::test_two",)
    assert wide.value.test_files == ("tests/test_a.py", "tests/test_b.py")


def test_import_of_a_name_that_only_the_fix_has_turns_all_its_tests(tmp_path: Path) -> None:  # B042
    found = accepted(Project(
        tmp_path, "def test_ok(): pass", fixed=FIXED + "\nnew = 1",
        extra={"tests/test_ce.py": IMPORTS + "from pkg.mod import new\ndef test_c(): pass"},
    ).verify()[0])  # fmt: skip
    assert found.fail_to_pass == ("tests/test_ce.py::test_c",)
    assert found.pass_to_pass == ids("test_ok")
    assert dict(found.causes)[found.fail_to_pass[0]] == "missing: collection error in tests/test_ce.py"


def test_crash_that_the_fix_removes_is_fail_to_pass_and_later_tests_are_seen(tmp_path: Path) -> None:  # B043
    found = accepted(Project(
        tmp_path, "def test_1(): pass\ndef test_2(): mod.f()\ndef test_3(): pass",
        buggy="import os\ndef f(): os.kill(os.getpid(), 11)", fixed="def f(): pass",
    ).verify()[0])  # fmt: skip
    assert found.fail_to_pass == ids("test_2")
    assert found.pass_to_pass == ids("test_1", "test_3")
    assert found.causes == ((ids("test_2")[0], "crashed"),)


def test_endless_loop_that_the_fix_ends_is_fail_to_pass(tmp_path: Path) -> None:
    found = accepted(Project(
        tmp_path, "def test_1(): mod.f()\ndef test_2(): pass",
        buggy="def f():\n  while True: pass", fixed="def f(): pass", settings=VerifySettings(runs=1, test_timeout_s=2),
    ).verify()[0])  # fmt: skip
    assert (found.fail_to_pass, found.causes) == (ids("test_1"), ((ids("test_1")[0], "timeout"),))


def test_fix_that_no_test_notices_is_rejected_with_what_was_seen(tmp_path: Path) -> None:
    outcome, observed = Project(
        tmp_path,
        "def test_two(): assert mod.double(2) == 4\ndef test_f(): assert 0",
        settings=VerifySettings(runs=9),
    ).verify()
    assert rejected(outcome).code is RejectCode.NO_FAIL_TO_PASS
    assert rejected(outcome).evidence == (f"{ids('test_f')[0]}: assert 0",)
    assert "1 pass in both, 1 fail in both" in rejected(outcome).message
    assert len(observed["runs"]) == 4


def test_turning_test_that_is_unstable_is_no_verdict(tmp_path: Path) -> None:
    outcome, _ = Project(tmp_path, """
import os
def test_unstable(): assert int(os.environ["PYTHONHASHSEED"]) % 2
""", settings=VerifySettings(runs=2)).verify()  # fmt: skip
    assert rejected(outcome).code is RejectCode.UNSTABLE


def test_all_that_the_fix_turns_needing_the_network_is_told(tmp_path: Path) -> None:  # B050
    outcome, _ = Project(tmp_path, """
import socket
def test_local(): socket.create_server(("127.0.0.1", 0)).close()
def test_remote(): socket.getaddrinfo("httpbin.invalid", 80)
def test_remote_fix():
    socket.getaddrinfo("httpbin.invalid", 80)
    assert mod.double(0) == 0
""").verify()  # fmt: skip
    assert rejected(outcome).code is RejectCode.NEEDS_NETWORK
    assert rejected(outcome).evidence == ids("test_remote", "test_remote_fix")


@pytest.mark.parametrize(
    "test, code",
    [
        ("x = 1", RejectCode.NO_TESTS_FOUND),
        ("import not_installed\ndef test_1(): pass", RejectCode.BUILD_FAILED),
    ],
)
def test_nothing_collected_after_the_fix_is_not_called_failing(
    tmp_path: Path, test: str, code: RejectCode
) -> None:
    assert rejected(Project(tmp_path, test).verify()[0]).code is code


def test_test_patch_without_tests_is_rejected_before_anything_runs(tmp_path: Path) -> None:
    backend = FakeBackend(worlds={})
    deltas = {state: delta({"tests/data.json": "{}"}) for state in State}
    outcome, _ = verify(
        candidate({"tests/data.json": "{}"}), WORLD, ENVIRONMENT, deltas, backend, SETTINGS, LIMITS, BlobHash
    )  # type: ignore[arg-type]
    assert rejected(outcome).code is RejectCode.NO_TESTS_FOUND
    assert backend.runs == []


def test_tests_that_do_not_end_in_time_are_rejected_with_the_one_that_ran(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "", "pkg/mod.py": BUGGY}
    backend = replace(backend_for(tmp_path, files), expire_at=b'"kind":"begin"')
    outcome, _ = Project(tmp_path, "import time\ndef test_1(): time.sleep(60)", backend=backend).verify()
    assert rejected(outcome).code is RejectCode.TEST_TIMEOUT
    assert ids("test_1")[0] in rejected(outcome).evidence[0]


def test_memory_limit_in_one_run_is_no_fail_to_pass(tmp_path: Path) -> None:
    def tamper(number: int, result: ExecResult) -> ExecResult:
        return replace(result, memory_events=1) if number == 2 else result

    files = {"pkg/__init__.py": "", "pkg/mod.py": BUGGY}
    backend = replace(backend_for(tmp_path, files), tamper=tamper)
    outcome, _ = Project(tmp_path, "def test_zero(): assert mod.double(0) == 0", backend=backend).verify()
    assert rejected(outcome).code is RejectCode.RESOURCE_LIMIT


def test_killed_machinery_is_a_failure_of_the_sandbox(tmp_path: Path) -> None:
    def tamper(number: int, result: ExecResult) -> ExecResult:
        return (
            ExecResult(exit_code=137, ended_by=EndedBy.SIGNALLED, output=b"", report=b"")
            if number == 3
            else result
        )

    files = {"pkg/__init__.py": "", "pkg/mod.py": BUGGY}
    backend = replace(backend_for(tmp_path, files), tamper=tamper)
    outcome, _ = Project(tmp_path, "def test_zero(): assert mod.double(0) == 0", backend=backend).verify()
    assert isinstance(outcome, Failed)
    assert (outcome.boundary, outcome.retryable) == (Boundary.SANDBOX, True)


def test_installed_copy_of_the_project_is_no_green_environment(tmp_path: Path) -> None:
    (tmp_path / "site/pkg").mkdir(parents=True)
    for name in ("__init__.py", "mod.py"):
        (tmp_path / "site/pkg" / name).write_text("")
    test = f"sys.path.insert(0, {str(tmp_path / 'site')!r})\n[sys.modules.pop(m) for m in list(sys.modules) if m.startswith('pkg')]\nimport pkg.mod\ndef test_1(): pass"
    outcome, _ = Project(tmp_path / "w", test).verify()
    assert rejected(outcome).code is RejectCode.BUILD_FAILED
    assert "elsewhere than its checkout" in rejected(outcome).message


def test_options_that_the_project_must_not_have_are_part_of_the_command(tmp_path: Path) -> None:
    found = accepted(Project(
        tmp_path, "def test_zero(): assert mod.double(0) == 0",
        extra={"pytest.ini": "[pytest]\naddopts = -x -m 'not slow'\nmarkers = slow: s"},
    ).verify()[0])  # fmt: skip
    assert found.test_command[-2:] == ("-o", "addopts=-m 'not slow'")


SLOW = """
import os, pathlib
LOG = pathlib.Path(os.environ.get("TMPDIR", "/tmp"), "runs-of-{name}")
def test_zero(): assert mod.double(0) == 0
def test_two(): assert mod.double(2) == 4
def test_never():
    with LOG.open("a") as log: log.write("x")
    assert False
"""


@pytest.mark.parametrize("limit_s", [0.0, 1e9])
def test_a_slow_run_is_not_repeated_with_what_fails_after_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_s: float
) -> None:
    log = tmp_path / "runs"
    body = SLOW.replace('os.environ.get("TMPDIR", "/tmp"), "runs-of-{name}"', repr(str(log)))
    monkeypatch.setattr("swequarry.verify.verifier._LONG_RUN_S", limit_s)
    project = Project(tmp_path / "p", body, settings=VerifySettings(runs=3))
    found = accepted(project.verify()[0])
    assert found.fail_to_pass == ids("test_zero")
    assert found.pass_to_pass == ids("test_two")
    matrix = json.loads(project.blobs[found.matrix or ""])["tests"]
    assert matrix["tests/test_a.py::test_never"] == {"before": ["failed"], "after": ["failed"]}
    assert len(log.read_text()) == (2 if limit_s == 0 else 6)

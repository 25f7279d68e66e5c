"""The verifier in real sandboxes: the same project gives the same verdict in every backend."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path
from textwrap import dedent

import pytest
from conftest import Bench

from swequarry.config import VerifySettings
from swequarry.delta import FileContent, TreeDelta
from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.records import (
    BlobHash,
    Candidate,
    CommitSha,
    Environment,
    Recipe,
    RepoRef,
    State,
    Statement,
    StatementKind,
    TestId,
    TreeSha,
    Verification,
    sha256_hex,
)
from swequarry.sandbox.contract import ENVIRONMENT, Command, Limits, SandboxBackend, World
from swequarry.verify.runner import RunOptions, RunResult, run_tests
from swequarry.verify.verifier import verify

LIMITS = Limits(wall_s=120, memory_bytes=512 << 20, processes=64, disk_bytes=64 << 20, tmp_bytes=64 << 20)
RECIPE = Recipe(python="3", cutoff=datetime(2024, 1, 1, tzinfo=UTC))
ENV = Environment(backend="any", python_version="3", recipe=RECIPE, lock=BlobHash("0" * 64))
BUGGY = "import os\ndef f(x): return x or 1\ndef crash(): os.kill(os.getpid(), 11)\n"
FIXED = "def f(x): return x\ndef crash(): pass\nnew = 1\n"


def delta(files: dict[str, str]) -> TreeDelta:
    return TreeDelta(
        files={name.encode(): FileContent(data=dedent(text).encode()) for name, text in files.items()}
    )


def runner_files(version: str) -> TreeDelta:
    """Return this environment's own pytest as files of the sandbox's."""
    files = {}
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for item in distribution(name).files or ():
            source = Path(str(item.locate()))
            if item.suffix == ".py" or ".dist-info/" in str(item):
                target = f"env/lib/python{version}/site-packages/{item}"
                files[target.encode()] = FileContent(data=source.read_bytes())
    return TreeDelta(files=files)


@dataclass
class Quarry:
    """A backend with a world of a small buggy project that can run pytest."""

    backend: SandboxBackend
    world: World
    blobs: dict[str, bytes] = field(default_factory=dict)

    def run(self, test: str, limits: Limits = LIMITS, **options: float) -> RunResult:
        files = delta({"tests/test_a.py": test})
        return run_tests(
            self.backend, self.world, files, ["tests/test_a.py"], RECIPE, RunOptions(**options), limits
        )

    def verify(self, tests: dict[str, str], settings: VerifySettings, limits: Limits = LIMITS):
        candidate = Candidate(
            repo=RepoRef(owner="acme", name="w"), instance_id="acme__w-1", source="git",
            base_commit=CommitSha("1" * 40), base_tree=TreeSha("2" * 40), before_tree=TreeSha("3" * 40),
            after_tree=TreeSha("4" * 40), gold_patch=BlobHash("5" * 64), test_patch=BlobHash("6" * 64),
            gold_files=("pkg/mod.py",), test_files=tuple(sorted(tests)), cutoff=RECIPE.cutoff,
            statement=Statement(kind=StatementKind.ISSUE, text="f(0) is 1"),
        )  # fmt: skip
        deltas = {
            State.BASE: TreeDelta(),
            State.BEFORE: delta(tests),
            State.AFTER: delta({**tests, "pkg/mod.py": FIXED}),
        }
        return verify(candidate, self.world, ENV, deltas, self.backend, settings, limits, self.put)

    def put(self, data: bytes) -> BlobHash:
        self.blobs[sha256_hex(data)] = data
        return BlobHash(sha256_hex(data))


@pytest.fixture(scope="module", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def quarry(
    request: pytest.FixtureRequest,
    bench_of: Callable[[str], Bench],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Quarry]:
    bench = bench_of(request.param)
    python = max(
        (p for p in bench.backend.interpreters() if p.version.startswith(("3.10", "3.11", "3.12", "3.13"))),
        key=lambda p: p.version.startswith(f"3.{sys.version_info.minor}."),
    )
    tree = tmp_path_factory.mktemp("tree")
    (tree / "pkg").mkdir()
    (tree / "pkg/__init__.py").write_text("")
    (tree / "pkg/mod.py").write_text(BUGGY)
    bare = bench.backend.import_tree(tree, "verify bare")
    with bench.backend.create(bare, interpreter=python) as sandbox:
        make = Command(argv=(python.path, "-m", "venv", "--without-pip", f"{ENVIRONMENT}/env"))
        assert sandbox.run(make, LIMITS).ok
        version = ".".join(python.version.split(".")[:2])
        sandbox.put(runner_files(version), ENVIRONMENT)
        compiled = sandbox.run(
            Command(argv=(python.path, "-m", "compileall", "-q", f"{ENVIRONMENT}/env")), LIMITS
        )
        assert compiled.ok, compiled
        world = sandbox.commit("verify")
    yield Quarry(backend=bench.backend, world=world)
    for key in ("verify", "verify bare"):
        bench.backend.remove_world(key)


def outcomes(result: RunResult) -> dict[str, str]:
    return {r.id.partition("::")[2]: r.outcome.value for r in result.report.results}


def test_every_backend_gives_the_same_verdict(quarry: Quarry) -> None:
    tests = {
        "tests/test_a.py": """
            import socket, os, pathlib
            import pytest
            from pkg import mod
            def test_zero(): assert mod.f(0) == 0
            def test_crash(): mod.crash()
            def test_after_crash(): assert mod.f(2) == 2
            def test_host(): assert socket.gethostbyname(socket.gethostname()).startswith("127.")
            def test_remote(): socket.getaddrinfo("host.invalid", 80)
            def test_user(): assert os.getuid() == 1000 and os.environ["PYTHONDONTWRITEBYTECODE"] == "1"
            def test_fresh():
                assert not pathlib.Path("left").exists()
                pathlib.Path("left").touch()
            @pytest.mark.parametrize("o", [object()], ids=repr)
            def test_address(o): pass
        """,
        "tests/test_new.py": "from pkg.mod import new\ndef test_new(): assert new",
    }
    outcome, observed = quarry.verify(tests, VerifySettings(runs=2))
    assert isinstance(outcome, Accepted), outcome
    found = outcome.value
    assert isinstance(found, Verification)
    assert found.fail_to_pass == ids("test_a.py::test_crash", "test_a.py::test_zero", "test_new.py::test_new")
    assert found.pass_to_pass == ids(
        *(f"test_a.py::test_{n}" for n in ("after_crash", "fresh", "host", "user"))
    )
    assert [(entry.id, entry.reason) for entry in found.quarantined] == [
        ("tests/test_a.py::test_address", "unstable_id")
    ]
    assert [cause for _, cause in found.causes] == [
        "crashed",
        "failed",
        "missing: collection error in tests/test_new.py",
    ]
    assert [run["problems"] for run in observed["runs"]] == [["no_tests"], [], [], [], []]


def ids(*names: str) -> tuple[TestId, ...]:
    return tuple(TestId(f"tests/{name}") for name in names)


def test_child_killed_for_memory_gives_no_fail_to_pass(quarry: Quarry) -> None:
    outcome, observed = quarry.verify(
        {
            "tests/test_a.py": """
                import subprocess, sys
                from pkg import mod
                def test_1(): pass
                def test_big():
                    size = (2 << 30) if mod.f(0) else 1
                    assert subprocess.call([sys.executable, "-c", "bytearray(%d)[::4096] = b''" % size]) == 0
            """
        },
        VerifySettings(runs=1),
        Limits(wall_s=60, memory_bytes=256 << 20),
    )
    seen = [run for run in observed["runs"] if run["memory_events"] or "MemoryError" in str(run["details"])]
    assert seen
    assert isinstance(outcome, Rejected)


def test_memory_of_the_test_process_itself_is_a_limit_not_a_crash(quarry: Quarry) -> None:
    result = quarry.run(
        """
        def test_1(): pass
        def test_big():
            kept = []
            while True: kept.append(bytearray(b"x" * (8 << 20)))
        def test_3(): pass
        """,
        Limits(wall_s=60, memory_bytes=200 << 20),
    )
    found = outcomes(result)
    assert (found["test_1"], found["test_3"]) == ("passed", "passed")
    big = TestId("tests/test_a.py::test_big")
    assert big in result.suspects or "MemoryError" in result.report.results[1].detail


def test_daemons_and_ignored_signals_of_tests_do_not_hold_the_run(quarry: Quarry) -> None:
    result = quarry.run(
        """
        import os, signal, time
        def test_daemon():
            if os.fork() == 0:
                os.setsid()
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(600)
        def test_hang(): time.sleep(600)
        def test_next(): pass
        """,
        test_timeout_s=2.0,
    )
    assert outcomes(result) == {"test_daemon": "passed", "test_hang": "timeout", "test_next": "passed"}
    assert result.duration_s < 30


def test_wall_limit_keeps_what_was_known(quarry: Quarry) -> None:
    result = quarry.run(
        "import time\ndef test_1(): pass\ndef test_2(): time.sleep(600)\ndef test_3(): pass",
        Limits(wall_s=10, memory_bytes=512 << 20),
    )
    assert outcomes(result) == {"test_1": "passed", "test_2": "timeout", "test_3": "not_run"}
    assert [problem.value for problem in result.problems] == ["wall_limit"]


def test_report_cannot_be_written_through_proc(quarry: Quarry) -> None:
    result = quarry.run(
        """
        import glob, os
        def test_forge():
            for path in glob.glob("/proc/[0-9]*/fd/*"):
                if path.startswith("/proc/%d/" % os.getpid()):
                    continue
                try:
                    with open(path, "wb", buffering=0) as stream:
                        stream.write(b'{"kind":"end","nonce":"","status":0}\\n')
                except OSError:
                    pass
            assert 0
        """
    )
    assert outcomes(result) in ({"test_forge": "failed"}, {})
    assert "passed" not in outcomes(result).values()


def test_endless_output_ends_the_run_at_its_limit(quarry: Quarry) -> None:
    outcome, _ = quarry.verify(
        {
            "pytest.ini": "[pytest]\naddopts = -s",
            "tests/test_a.py": "def test_1():\n    while True: print('x' * 100000)",
        },
        VerifySettings(runs=1, test_timeout_s=30),
        Limits(output_bytes=1 << 20),
    )
    assert isinstance(outcome, Rejected)
    assert outcome.code is RejectCode.RESOURCE_LIMIT
    assert outcome.evidence == ("output_limit while at tests/test_a.py::test_1",)

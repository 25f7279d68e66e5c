"""What other programs say counts as far as it's new; what they can't see or do breaks no review."""

import json
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchreview.checkers import bandit, mypy, ruff, sides
from patchreview.checkers.bounded import answer_of
from patchreview.checkers.sides import Changed, Said, changed_python, only_new
from patchreview.clock import Clock
from patchreview.findings import Severity
from patchreview.ranges import review_range
from patchreview.reviewer import review_patch
from swequarry.git.repository import Repository
from swequarry.pipeline.observed import VERIFY, slow_tests, with_observed
from swequarry.pipeline.stages.verify import VerifyStage
from swequarry.records import Reviewed, ReviewFinding, ReviewSeverity

SHELL = b'import subprocess\nsubprocess.call("ls " + x, shell=True)\n'


def changed(before: bytes, after: bytes, path: bytes = b"src/a.py") -> Changed:
    return Changed(name=path.decode(), old_path=path, new_path=path, before=before, after=after)


def said(message: str, line: int = 1) -> Said:
    return Said(name="a.py", kind="K", message=message, line=line, severity=Severity.WARN)


def test_what_was_there_before_is_not_new_wherever_its_line_moved():
    before = [said("at line 3"), said("same")]
    after = [said("at line 7", 9), said("same", 2), said("same", 3)]
    assert [(one.message, one.line) for one in only_new("r", before, after)] == [("K: same", 3)]


def program(folder: Path, name: str, body: str) -> None:
    place = folder / name
    place.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}\n")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder of programs, the only one on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sides, "BESIDE", folder)
    return folder


FAKE_BANDIT = """
found = []
for path in sys.argv[sys.argv.index("--ignore-nosec") + 1:]:
    for number, line in enumerate(open(path), 1):
        if "shell=True" in line:
            found.append({"filename": path, "test_id": "B602", "issue_text": "shell", "issue_severity": "HIGH", "line_number": number})
print(json.dumps({"results": found}))
"""


def test_security_finding_is_new_and_in_source(programs):
    program(programs, "bandit", FAKE_BANDIT)
    files = [changed(b"", SHELL), changed(SHELL, SHELL, b"src/b.py"), changed(b"", SHELL, b"tests/test_a.py")]
    (found,) = bandit.check(files)
    assert (found.rule, found.severity, found.path, found.line) == ("security", Severity.WARN, "src/a.py", 2)


@pytest.mark.parametrize(
    "body", ["print('no json')", "sys.exit(3)", "print('[]')", "print('{\"results\": [{}]}')"]
)
def test_program_that_breaks_says_nothing(programs, body):
    program(programs, "bandit", body)
    program(programs, "ruff", body.replace("[{}]", "[]"))
    assert list(bandit.check([changed(b"", SHELL)])) == []


FAKE_RUFF = """
if not sys.stdin.read():
    BREAK
one = {"code": "F821", "message": "Undefined name", "location": {"row": 1}}
print(json.dumps([one]))
"""


@pytest.mark.parametrize(("answer", "new"), [("sys.exit(print('[]'))", 1), ("sys.exit(3)", 0)])
def test_nothing_is_new_where_the_old_side_was_not_looked_at(programs, answer, new):
    program(programs, "ruff", FAKE_RUFF.replace("BREAK", answer))
    assert len(list(ruff.check([changed(b"", SHELL)]))) == new


def test_program_that_is_not_installed_says_nothing(programs):
    files = [changed(b"", SHELL)]
    nothing = lambda _path: b""  # noqa: E731
    assert [*ruff.check(files), *bandit.check(files), *mypy.check(files, nothing, nothing, ((), ()))] == []


FAKE_MYPY = """
for path in sys.argv[sys.argv.index("--") + 1:]:
    for number, line in enumerate(open(path), 1):
        if "wrong" in line:
            print(f"{path}:{number}: error: Incompatible types in assignment  [assignment]")
            print(f"{path}:{number}: note: see docs")
"""


def typed(programs, files: dict[bytes, tuple[bytes | None, bytes | None]]):
    program(programs, "mypy", FAKE_MYPY)
    old, new = (
        {path: both[side] for path, both in files.items() if both[side] is not None} for side in (0, 1)
    )
    given = [
        Changed(name=path.decode(), old_path=path, new_path=path, before=old.get(path, b""), after=new[path])
        for path in new
        if path.endswith(b".py") and old.get(path) != new[path]
    ]
    return list(mypy.check(given, old.get, new.get, (old, new)))


def test_type_error_is_new_where_the_project_uses_mypy(programs):
    settings = b"[tool.mypy]\nstrict = true\n"
    files = {
        b"pyproject.toml": (settings, settings),
        b"src/a.py": (b"x = wrong\n", b"\nx = wrong\ny = wrong\n"),
        b"src/b.py": (b"wrong\n", b"wrong\n"),
        b"../out.py": (b"", b"wrong\n"),
    }
    (found,) = typed(programs, files)
    assert (found.rule, found.path, found.line) == ("types", "src/a.py", 3)
    assert typed(programs, {**files, b"pyproject.toml": (b"[tool.ruff]\n", settings)}) == []


def test_broken_patch_has_no_changed_files():
    assert changed_python(b"no patch", lambda _p: b"", lambda _p: b"") == []


def test_real_ruff_and_mypy_are_asked_for_a_range(tmp_path):
    def git(*words):
        who = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        subprocess.run(who, cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "pyproject.toml").write_text("[tool.mypy]\nplugins = ['evil']\n")
    (tmp_path / "evil.py").write_text("raise SystemExit\n")
    (tmp_path / "a.py").write_text("def f(x: int) -> int:\n    return x\n")
    git("add", "-A")
    git("commit", "-qm", "1")
    (tmp_path / "a.py").write_text(
        "def f(x: int) -> int:\n    return nowhere\n\n\nf('x')  # type: ignore\nf('y')\n"
    )
    git("commit", "-qam", "2")
    found = {one.rule: one for one in review_range(Repository.open(tmp_path), "HEAD~1..HEAD").findings}
    assert "nowhere" in found["lint"].message
    assert found["types"].path == "a.py"
    assert "lint" not in {
        one.rule for one in review_range(Repository.open(tmp_path), "HEAD~1..HEAD", lint=False).findings
    }


@pytest.mark.parametrize(
    ("took", "gold", "slow"),
    [
        (9.0, (3.0, 3.2), True),
        (6.0, (3.0, 3.2), False),
        (2.0, (0.1, 0.2), False),
        (9.0, (1.0, 4.0), False),
        (30.0, (1.0, 4.0), True),
        (9.0, (), False),
        (None, (1.0,), False),
    ],
)
def test_slowness_counts_beyond_what_runs_differ_by(took, gold, slow):
    assert (slow_tests(took, gold) is not None) is slow


def test_what_was_observed_stands_by_its_severity():
    slow = slow_tests(100.0, (1.0,))
    note = ReviewFinding(rule="x", severity=ReviewSeverity.NOTE, message="m")
    assert [one.rule for one in with_observed(Reviewed(findings=(note,)), [slow]).findings] == [
        "slow-tests",
        "x",
    ]


def requirements(*lines: str) -> bytes:
    old = sum(not line.startswith("+") for line in lines)
    new = sum(not line.startswith("-") for line in lines)
    body = "".join(f"{line}\n" for line in lines)
    return f"diff --git a/requirements.txt b/requirements.txt\n--- a/requirements.txt\n+++ b/requirements.txt\n@@ -1,{old} +1,{new} @@\n{body}".encode()


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (("-attrs==19.1", "+attrs>=19"), "isn't pinned any more"),
        (("-attrs==19.1", "+attrs==19.2"), None),
        (("+attrs @ git+https://git.example.org/attrs",), "from elsewhere"),
        (("+--extra-index-url https://example.org/simple",), "from elsewhere"),
        (("+attrs==19.1 --hash=sha256:00",), None),
    ],
)
def test_lost_pin_and_other_sources_are_named(lines, wanted):
    messages = [one.message for one in review_patch(requirements(*lines)).findings]
    assert "dependencies are changed" in messages
    named = [message for message in messages if "pinned" in message or "elsewhere" in message]
    assert ([wanted in message for message in named] == [True]) if wanted else (named == [])


def test_json_of_a_finding_has_the_precision_of_its_rule():
    patch = b"diff --git a/sitecustomize.py b/sitecustomize.py\nnew file mode 100644\n--- /dev/null\n+++ b/sitecustomize.py\n@@ -0,0 +1 @@\n+x = 1\n"
    data = json.loads(json.dumps(review_patch(patch).to_json()))
    assert data["findings"][0]["precision"] == 1.0


def test_times_are_looked_for_under_the_name_of_the_stage_that_measures_them():
    assert VerifyStage.name == VERIFY


PYTHON = sys.executable


def answer(body: str, **bounds: float):
    return answer_of([PYTHON, "-c", body], **{"time_s": 20.0, **bounds})


def test_program_within_its_bounds_is_heard():
    assert answer("import sys; print(len(sys.stdin.read())); sys.exit(1)", given=b"abc") == (1, b"3\n")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="one process can't bound another here")
@pytest.mark.parametrize(
    ("body", "bounds"),
    [
        ("import time; time.sleep(.3); x = bytearray(1 << 30); print(len(x))", {"memory_bytes": 512 << 20}),
        ("import time, sys; time.sleep(.3); sys.stdout.write('x' * (2 << 20))", {"output_bytes": 1 << 20}),
    ],
)
def test_program_that_needs_too_much_is_not_believed(body, bounds):
    found = answer(body, **bounds)
    assert found is None or (found.status == 1 and not found.text)


def test_program_that_takes_too_long_ends_with_what_it_started(tmp_path):
    mark = tmp_path / "mark"
    child = f"import time, pathlib; time.sleep(2); pathlib.Path({str(mark)!r}).touch()"
    body = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(30)"
    )
    began = time.monotonic()
    assert answer(body, time_s=1.0) is None
    assert time.monotonic() - began < 10
    time.sleep(2.5)
    assert not mark.exists()


def test_program_that_is_not_there_gives_no_answer():
    assert answer_of(["/nowhere/at/all"], time_s=1.0) is None


def test_files_that_ruff_had_no_time_for_are_counted(programs):
    program(programs, "ruff", FAKE_RUFF.replace("BREAK", "sys.exit(print('[]'))"))
    times = iter([0.0, 1.0, 9.0])
    clock = Clock(5.0, now=lambda: next(times))
    lint, note = ruff.check([changed(b"", SHELL), changed(b"", SHELL, b"src/b.py")], clock)
    assert lint.path == "src/a.py"
    assert "1 of 2 files" in note.message


def test_mypy_that_breaks_says_nothing(programs):
    files = {b"mypy.ini": (b"[mypy]\n", b"[mypy]\n"), b"a.py": (b"x = 1\n", b"x = wrong\n")}
    assert len(typed(programs, files)) == 1
    program(
        programs,
        "mypy",
        "sys.exit(1 if 'wrong' not in open('a.py').read() else print('a.py:1: error: no  [x]'))",
    )
    given = [changed(b"x = 1\n", b"x = wrong\n", b"a.py")]
    old, new = ({path: both[side] for path, both in files.items()} for side in (0, 1))
    assert list(mypy.check(given, old.get, new.get, (old, new))) == []

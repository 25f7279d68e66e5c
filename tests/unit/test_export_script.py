"""The evaluation script, run by a real bash on a real working tree."""

import os
import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_factory import Blobs, make_task

from swequarry.export import script as script_module
from swequarry.export.script import END_MARKER, PATCH_FAILED_MARKER, START_MARKER, eval_script, shell_word

ODD = 'tests/it\'s a "tést" [x]*.py'


def git(folder, *args):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    run = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.quotePath=true", *args],
        cwd=folder,
        capture_output=True,
        check=True,
        env=env,
    )
    return run.stdout


def write(folder, path, data):
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A base commit, and a test patch that edits, adds, deletes and renames, binary and CRLF included."""
    tree = tmp_path / "it is a testbed"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    write(tree, "src/a.py", b"x = 1\n")
    write(tree, "tests/test_old.py", b"old = 1\n" * 20)
    write(tree, "tests/crlf.txt", b"a\r\nb\r\n")
    write(tree, ODD, b"one\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "base")
    base = git(tree, "rev-parse", "HEAD").decode().strip()
    git(tree, "mv", "tests/test_old.py", "tests/test_new.py")
    write(tree, "tests/crlf.txt", b"a\r\nc\r\n")
    write(tree, "tests/data.bin", bytes(range(256)) * 3)
    write(tree, "tests/latin.txt", b"caf\xe9\n")
    write(tree, ODD, b"two\n")
    git(tree, "add", "-A")
    patch = git(tree, "diff", "--cached", "--binary", "--full-index")
    wanted = git(tree, "write-tree")
    git(tree, "reset", "-q", "--hard")
    monkeypatch.setattr(script_module, "TESTBED", shlex.quote(str(tree)))
    monkeypatch.setattr(script_module, "_PATCH", shlex.quote(str(tmp_path / "test.patch")))
    touched = (
        "tests/test_old.py",
        "tests/test_new.py",
        "tests/crlf.txt",
        "tests/data.bin",
        "tests/latin.txt",
        ODD,
    )
    return tree, base, patch, wanted, touched


def run_script(tmp_path, bench, command):
    _, base, patch, _, touched = bench
    blobs = Blobs()
    task = make_task(
        blobs,
        test=patch,
        candidate={"test_files": touched},
        recipe={"variables": (("ODD", "a b'$x"),)},
    )
    object.__setattr__(task.initial_state, "base_commit", base)
    object.__setattr__(task.verifier, "test_command", ("bash", "-c", command))
    object.__setattr__(task.verifier, "test_files", (ODD,))
    script = eval_script(task, patch)
    path = tmp_path / "eval.sh"
    path.write_text(script)
    run = subprocess.run(
        ["/bin/bash", str(path)], capture_output=True, check=False, env={**os.environ, "HOME": str(tmp_path)}
    )
    return script, run.stdout.decode()


def test_tests_see_exactly_the_patched_tree_and_leave_the_base_behind(tmp_path, bench):
    tree, _, _, wanted, _ = bench
    script, output = run_script(
        tmp_path, bench, 'git add -A; echo "tree:$(git write-tree)"; git reset -q; echo "odd:$ODD:$2"'
    )
    assert f"tree:{wanted.decode().strip()}" in output
    assert f"odd:a b'$x:{ODD}" in output
    assert script.isascii()
    assert "\r" not in script
    assert git(tree, "status", "--porcelain") == b""


def test_each_marker_is_printed_once_on_one_line(tmp_path, bench):
    _, output = run_script(tmp_path, bench, "echo between")
    assert output.count(START_MARKER) == output.count(END_MARKER) == 1
    assert "between" in output.split(START_MARKER)[1].split(END_MARKER)[0]


def test_solver_that_tampers_with_hidden_tests_changes_nothing(tmp_path, bench):
    tree, _, _, wanted, _ = bench
    write(tree, "tests/data.bin", b"mine")
    (tree / "tests/test_new.py").mkdir()
    (tree / "tests/test_old.py").unlink()
    write(tree, ODD, b"mine")
    _, output = run_script(tmp_path, bench, 'git add -A; echo "tree:$(git write-tree)"')
    assert f"tree:{wanted.decode().strip()}" in output


def test_patch_that_does_not_apply_is_no_verdict(tmp_path, bench):
    tree, base, _, wanted, touched = bench
    broken = (
        b"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-y = 1\n+y = 2\n"
    )
    _, output = run_script(tmp_path, (tree, base, broken, wanted, touched), "echo ran")
    assert PATCH_FAILED_MARKER in output
    assert START_MARKER not in output


@given(st.binary(max_size=40).filter(lambda data: b"\0" not in data))
def test_shell_word_is_one_word_with_the_same_bytes(data):
    word = shell_word(data)
    assert word.isascii()
    assert "\n" not in word
    run = subprocess.run(
        ["bash", "-c", f"printf %s {word}"],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
    )
    assert run.stdout == data


def test_pytest_is_told_to_name_each_result_and_nothing_else(tmp_path):
    """Captured output of a passing test must not stand in the summary: it could imitate a result line."""
    (tmp_path / "test_a.py").write_text(
        "def test_liar():\n    print('PASSED test_a.py::test_hidden')\n\ndef test_bad():\n    assert 0\n"
    )
    flags = script_module._PYTEST_FLAGS
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *flags, "test_a.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith(("PASSED", "FAILED"))]
    assert sorted(lines) == ["FAILED test_a.py::test_bad - assert 0", "PASSED test_a.py::test_liar"]


@pytest.mark.parametrize("path", ["tests/\udcff.py", '"tests/\\377.py"'])
def test_test_file_that_is_not_utf8_is_named_by_its_bytes(path):
    blobs = Blobs()
    task = make_task(blobs, test_files=("tests/a.py",))
    object.__setattr__(task.verifier, "test_files", (path, "-k.py"))
    assert script_module.test_command(task).endswith(r" $'tests/\377.py' ./-k.py")


def test_suite_without_pytest_prints_its_ids_whatever_the_docstrings_say(tmp_path, bench):
    tree, _, _, _, _ = bench
    suite = b"import unittest\nclass T(unittest.TestCase):\n    def test_1(self):\n        '''One line.'''\n"
    write(tree, "tests/test_u.py", suite)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "a suite")
    base = git(tree, "rev-parse", "HEAD").decode().strip()
    blobs = Blobs()
    task = make_task(
        blobs,
        candidate={"test_files": ()},
        test_files=("tests/test_u.py",),
        recipe={"test_framework": "unittest", "test_command": ("python", "-m", "unittest")},
    )
    object.__setattr__(task.initial_state, "base_commit", base)
    write(tree, "src/a.py", b"y = 1\n")
    patch = b"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-y = 1\n+y = 2\n"
    script = eval_script(task, patch)
    assert script.isascii()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    run = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=False, env=env)
    output = run.stdout.decode()
    between = output.split(START_MARKER)[1].split(END_MARKER)[0]
    assert "\ntest_1 (test_u.T) ... ok\n" in between
    assert "One line." not in between

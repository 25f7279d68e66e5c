"""The evaluation script of a dataset row: bash, ASCII, LF only.

Harnesses of the SWE-bench family copy it into the image, run it as root and read the test results between
the two markers. They start it under `set -uxo pipefail`, so the markers are traced no-ops: an `echo` would
print each marker twice. They also record `$?` just before the end marker, so the test command comes
directly before it. The test patch travels as base64: a here-document of its text would have to survive
whatever bytes it holds.

What runs by pytest is told by pytest itself. Other suites are run by the program that verified them, with
lines in place of its report: `python -m unittest -v` shows a test by the first line of its docstring, and
later Pythons name the method twice.
"""

import base64
import re
import shlex
import string
import textwrap
from collections.abc import Iterable

from swequarry.errors import PatchError
from swequarry.export.restored import restored_paths
from swequarry.git.paths import path_bytes
from swequarry.records import Task
from swequarry.sandbox.contract import ENVIRONMENT, TESTBED
from swequarry.verify.frameworks import invocation
from swequarry.verify.payload import printing_program

START_MARKER = ">>>>> Start Test Output"
END_MARKER = ">>>>> End Test Output"
PATCH_FAILED_MARKER = ">>>>> Patch Apply Failed"

_PYTEST_FLAGS = ("-rfEsxXp", "--color=no")
"""One summary line per test, without the captured output of passing tests, which could imitate one."""

_PRINTABLE = re.compile(rb"[ -~]*")
_BARE = frozenset(string.ascii_letters.encode() + string.digits.encode() + b"/._-")
_PATCH = "/tmp/swequarry-test.patch"  # noqa: S108  # inside the container that the script runs in

_RUNNER = "/tmp/swequarry-runner.py"  # noqa: S108  # likewise

_VARIABLES = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC"}
"""What verification runs have; the recipe's own come on top."""

_FUNCTIONS = r"""
restore_tests() {
  local path
  for path in "${touched[@]}"; do
    if git cat-file -e "$base:$path" 2>/dev/null; then
      git --literal-pathspecs checkout --quiet "$base" -- "$path"
    else
      rm -rf -- "$path"
    fi
  done
}
""".strip()


def shell_word(word: bytes) -> str:
    """Return one bash word for some bytes: plain or quoted where printable ASCII, else `$'...'`."""
    if _PRINTABLE.fullmatch(word):
        return shlex.quote(word.decode("ascii"))
    return "$'" + "".join(chr(byte) if byte in _BARE else f"\\{byte:03o}" for byte in word) + "'"


def _words(words: Iterable[bytes]) -> str:
    return " ".join(shell_word(word) for word in words)


def _target(path: str) -> bytes:
    """Return a test file as an argument: bytes that aren't UTF-8 come quoted or as surrogates."""
    try:
        raw = path_bytes(path)
    except (PatchError, UnicodeEncodeError):
        raw = path.encode("utf-8", "surrogateescape")
    return b"./" + raw if raw.startswith(b"-") else raw


def test_command(task: Task) -> str:
    """Return the shell command that runs the task's hidden suite and names every test's result."""
    if _printing(task) is None:
        words = (*task.verifier.test_command, *_PYTEST_FLAGS)
    else:
        words = ("python", *invocation(task.environment.recipe).flags, _RUNNER)
    files = (_target(path) for path in task.verifier.test_files)
    return _words([*(word.encode() for word in words), *files])


def _printing(task: Task) -> str | None:
    """Return the program that runs the tests where their framework can't be told how to name them."""
    if task.environment.recipe.test_framework == "pytest":
        return None
    how = invocation(task.environment.recipe)
    return printing_program(how.adapter, how.script, how.options)


def _put_runner(program: str | None) -> list[str]:
    if program is None:
        return []
    return [f"cat > {_RUNNER} <<'END_OF_RUNNER'", program.rstrip("\n"), "END_OF_RUNNER"]


def eval_script(task: Task, test_patch: bytes) -> str:
    """Return the script that puts the hidden tests in place, runs them and takes them away again.

    Whatever the solver did to the files of the test patch is undone first. If the patch still doesn't
    apply, the script says so with the marker that harnesses read as "not gradeable".
    """
    encoded = "\n".join(textwrap.wrap(base64.b64encode(test_patch).decode("ascii"), 76))
    variables = _VARIABLES | dict(task.environment.recipe.variables)
    exports = [f"export {name}={shell_word(value.encode())}" for name, value in sorted(variables.items())]
    lines = [
        "#!/bin/bash",
        "set -uxo pipefail",
        "exec 2>&1",
        f"cd {TESTBED}",
        f'export PATH={ENVIRONMENT}/env/bin:"$PATH"',
        *exports,
        f"git config --global --add safe.directory {TESTBED}",
        f"base={task.initial_state.base_commit}",
        f"touched=({_words(path_bytes(path) for path in restored_paths(task))})",
        _FUNCTIONS,
        "restore_tests",
        f"base64 --decode > {_PATCH} <<'END_OF_PATCH'",
        *([encoded] if encoded else []),
        "END_OF_PATCH",
        f"git apply --whitespace=nowarn {_PATCH} || {{ echo '{PATCH_FAILED_MARKER}'; exit 1; }}",
        f"rm -f {_PATCH}",
        *_put_runner(_printing(task)),
        f": '{START_MARKER}'",
        test_command(task),
        f": '{END_MARKER}'",
        "restore_tests",
    ]
    return "\n".join(lines) + "\n"

import pytest
from verify_worlds import run

from swequarry.git.patches import parse_patch
from swequarry.verify.coverage_of_gold import coverage, read_trace, tracing_tap
from swequarry.verify.mutation_diff import ChangedFile, readable_patch

LIB = b"""def label(amount):
    if amount < 0:
        return "debt"
    for part in range(amount):
        if part > 99:
            break
    return (
        "%d"
        % amount
    )


def unused():
    return 1
"""
FILES = (
    ChangedFile(path=b"lib.py", old=b"", new=LIB, hunks=parse_patch(readable_patch(b"lib.py", b"", LIB))[0].hunks),
)  # fmt: skip


def traced(root, test):
    tap, mark = tracing_tap(FILES)
    result = run(root, {"lib.py": LIB.decode(), "test_lib.py": test}, "test_lib.py", taps=(tap,))
    assert result.report.complete
    trace = read_trace(result, mark, FILES)
    assert trace is not None
    return trace


def test_way_that_no_test_takes_isnt_covered(tmp_path):
    found = coverage(
        FILES, traced(tmp_path, "from lib import label\ndef test_label(): assert label(3) == '3'\n")
    )
    assert found.uncovered == (("lib.py", 3), ("lib.py", 6), ("lib.py", 14))
    assert (found.lines, found.covered_lines) == (12, 9)
    assert (found.branches, found.covered_branches) == (6, 4)
    assert found.whole


@pytest.mark.parametrize(
    "test",
    [
        "import subprocess, sys\ndef test_child(): subprocess.run([sys.executable, '-c', 'import lib'], check=True)\n",
        "import os\ndef test_fork():\n    child = os.fork()\n    if not child: os._exit(0)\n    os.waitpid(child, 0)\n",
        "import sys\ndef test_trace(): sys.settrace(None)\n",
    ],
    ids=["process", "fork", "trace"],
)
def test_what_the_tracer_cant_see_doesnt_count_as_never_run(tmp_path, test):
    assert not traced(tmp_path, test).whole

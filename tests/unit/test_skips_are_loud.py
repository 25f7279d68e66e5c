"""A skip in CI fails the run, unless the test needs the data folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.mark.parametrize(
    ("mark", "required", "status"),
    [("", "docker", 1), ("", "", 0), ("@pytest.mark.data", "docker", 0), ("@pytest.mark.xfail", "docker", 0)],
)
def test_exit_status(tmp_path: Path, mark: str, required: str, status: int) -> None:
    shutil.copy(CONFTEST, tmp_path)
    body = "assert False" if "xfail" in mark else "pytest.skip('not here')"
    (tmp_path / "test_it.py").write_text(f"import pytest\n{mark}\ndef test_it(): {body}\n")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, tmp_path]
    done = subprocess.run(
        argv,
        env={**os.environ, "SWEQUARRY_REQUIRE": required, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == status, done.stdout.decode()

"""A skip in CI fails the run, unless the test needs the data folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


WORKERS = ("-p", "xdist", "-n", "1")


@pytest.mark.parametrize(
    ("mark", "required", "status", "workers"),
    [
        ("", "docker", 1, ()),
        ("", "docker", 1, WORKERS),
        ("", "", 0, ()),
        ("@pytest.mark.data", "docker", 0, ()),
        ("@pytest.mark.xfail", "docker", 0, ()),
    ],
)
def test_exit_status(tmp_path: Path, mark: str, required: str, status: int, workers: tuple[str, ...]) -> None:
    shutil.copy(CONFTEST, tmp_path)
    body = "assert False" if "xfail" in mark else "pytest.skip('not here')"
    (tmp_path / "test_it.py").write_text(f"import pytest\n{mark}\ndef test_it(): {body}\n")
    assert run(tmp_path, required, workers) == status


@pytest.mark.parametrize("workers", [(), WORKERS], ids=["serial", "workers"])
def test_module_that_skips_itself_is_as_loud(tmp_path: Path, workers: tuple[str, ...]) -> None:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_it.py").write_text("import pytest\npytest.skip('not here', allow_module_level=True)\n")
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    assert run(tmp_path, "docker", workers) == 1


def test_log_that_is_no_unicode_does_not_end_a_run_of_workers(tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path)
    body = "import logging\ndef test_it(): logging.getLogger().warning('\\ud800')\n"
    (tmp_path / "test_it.py").write_text(body)
    assert run(tmp_path, "docker", WORKERS) == 0


def run(folder: Path, required: str, more: tuple[str, ...]) -> int:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, "-c", os.devnull, folder]
    done = subprocess.run(
        argv,
        env={**os.environ, "SWEQUARRY_REQUIRE": required, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
        cwd=folder,
    )
    return done.returncode

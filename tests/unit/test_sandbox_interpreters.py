"""Looking for interpreters in places that aren't ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
import os, json, subprocess
from swequarry.sandbox.interpreters import discover
os.setgid(4711)
os.setuid(4711)
discover()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_folders_closed_to_us_are_passed_over(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "versions" / "3.9" / "bin").mkdir(parents=True)
    closed.chmod(0o700)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    path = f"{closed / 'versions' / '3.9' / 'bin'}:/usr/bin"
    env = {**os.environ, "PYENV_ROOT": str(closed), "UV_PYTHON_INSTALL_DIR": str(closed), "PATH": path}
    done = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr

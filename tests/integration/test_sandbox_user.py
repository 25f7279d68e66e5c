"""As root, the conformance suite runs once more as an ordinary user: the sandboxes differ in who starts them.

Left out is what both share once a command runs (marker `any_user`). Two processes run the files: most of the time
is waiting for limits.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from swequarry.sandbox.host import HostIdentity, is_reachable, unused_uid
from swequarry.sandbox.trees import remove_tree

HERE = Path(__file__).parent
FILES = (
    "test_sandbox_contract.py",
    "test_sandbox_limits.py",
    "test_sandbox_hostile.py",
    "test_sandbox_attempts.py",
)
OPEN_UP = """
closed="$1" stage="$2" uid="$3"; shift 3
if [ -n "$closed" ]; then
  number=0
  for path in $NEEDED; do number=$((number + 1)); mkdir "$stage/$number"; mount --rbind "$path" "$stage/$number"; done
  mount -t tmpfs -o mode=755 opened "$closed"
  number=0
  for path in $NEEDED; do number=$((number + 1)); mkdir -p "$path"; mount --rbind "$stage/$number" "$path"; done
fi
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
"""
"""In a mount namespace of its own: shows what lies in a folder that is root's alone, then becomes the user."""


def closed_ancestor(path: Path, user: HostIdentity) -> Path | None:
    return next((p for p in reversed(path.parents) if not is_reachable(p, user)), None)


@pytest.mark.skipif(os.geteuid() != 0, reason="this whole run is an ordinary user's already")
@pytest.mark.timeout(1500)
def test_ordinary_user_is_given_the_same_promises() -> None:
    user = HostIdentity(uid=unused_uid() + 1, gid=unused_uid() + 1, drop=True)
    needed = [Path(sys.base_prefix), HERE.parents[1], Path(sys.prefix)]
    needed += [Path(os.environ[name]) for name in ("PYENV_ROOT",) if name in os.environ]
    closed = {ancestor for path in needed if (ancestor := closed_ancestor(path, user))}
    assert len(closed) <= 1, f"the project and its Python lie in several closed folders: {closed}"
    hidden = [path for path in needed if closed_ancestor(path, user)]
    home = Path(tempfile.mkdtemp(prefix="swequarry-user-", dir="/var/tmp"))
    try:
        os.chown(home, user.uid, user.gid)
        stage = Path(tempfile.mkdtemp(dir="/var/tmp"))
        argv = ["unshare", "-m", "--propagation", "private", "/bin/sh", "-ec", OPEN_UP, "sh"]
        argv += [str(next(iter(closed), "")), str(stage), str(user.uid), sys.executable, "-m", "pytest", "-q"]
        argv += ["-p", "no:cacheprovider", "-m", "not docker and not any_user", f"--basetemp={home}/tmp"]
        argv += ["-n", "2", "--dist", "loadfile", *(str(HERE / name) for name in FILES)]
        environment = {**os.environ, "HOME": str(home), "NEEDED": " ".join(map(str, hidden))}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(home)}
        done = subprocess.run(argv, capture_output=True, check=False, cwd=HERE.parents[1], env=environment)
        said = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, said[-6000:] + done.stderr.decode("utf-8", "replace")[-1000:]
        assert " passed" in said
        remove_tree(stage)
    finally:
        remove_tree(home)

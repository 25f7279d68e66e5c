"""`doctor`: what this machine has, what is missing, and the command that mends it."""

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Json
from swequarry.config import SandboxSettings
from swequarry.errors import ExitCode, SwequarryError
from swequarry.git.run import Place, run_git
from swequarry.pipeline.workspace import default_cache
from swequarry.sandbox.backends import open_backend

group = command_group()

_GIB = 1024**3
_LOW_DISK_GIB = 5
_OLDEST_GIT = (2, 34)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. `needed` ones decide the exit code; `mend` is what to do where `ok` is false."""

    name: str
    ok: bool
    says: str
    needed: bool = True
    mend: str = ""


@group.command()
def doctor(*, as_json: Json = False) -> int:
    """Check git, sandboxes, interpreters and disk; exit code 5 if no sandbox can run."""
    checks = tuple(_checks())
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        print_lines(_line(check) for check in checks)
    if all(check.ok for check in checks if check.needed):
        return ExitCode.OK
    sandbox = next(check for check in checks if check.name == "sandbox bubblewrap")
    return ExitCode.FINDINGS if sandbox.ok else ExitCode.SANDBOX_UNAVAILABLE


def _line(check: Check) -> str:
    mark = "ok" if check.ok else ("MISSING" if check.needed else "absent")
    return f"{mark:8}{check.name}: {check.says}" + (f"; {check.mend}" if check.mend and not check.ok else "")


def _checks() -> Iterator[Check]:
    system = platform.system()
    yield Check(name="system", ok=system == "Linux", says=system, mend="SWEQuarry runs on Linux only")
    yield Check(name="python", ok=sys.version_info >= (3, 11), says=platform.python_version())
    yield _git()
    cache = default_cache()
    yield from _backend(SandboxSettings(backend="bubblewrap"), cache, needed=True)
    yield from _backend(SandboxSettings(backend="docker"), cache, needed=False)
    yield _disk(cache)


def _git() -> Check:
    mend = "install git 2.34 or newer"
    try:
        text = run_git(["--version"], Place()).decode("ascii", "replace").split()[2]
        version = tuple(int(part) for part in text.split(".")[:2])
    except (SwequarryError, ValueError, IndexError) as error:
        return Check(name="git", ok=False, says=str(error), mend=mend)
    return Check(name="git", ok=version >= _OLDEST_GIT, says=text, mend=mend)


def _backend(settings: SandboxSettings, cache: Path, *, needed: bool) -> Iterator[Check]:
    name = f"sandbox {settings.backend}"
    try:
        backend = open_backend(settings, cache / "worlds")
        problems = backend.probe()
    except SwequarryError as error:
        yield Check(name=name, ok=False, says=str(error), needed=needed)
        return
    if problems:
        yield Check(name=name, ok=False, says="; ".join(problems), needed=needed)
        return
    weak = backend.weaknesses
    yield Check(name=name, ok=True, says="ready" + "".join(f"; {one}" for one in weak), needed=needed)
    versions = ", ".join(interpreter.version for interpreter in backend.interpreters())
    yield Check(
        name=f"interpreters in {settings.backend}",
        ok=bool(versions),
        says=versions or "none",
        needed=needed,
        mend="install a Python, for instance with `uv python install 3.9`",
    )


def _disk(cache: Path) -> Check:
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(place).free / _GIB
    return Check(
        name="disk",
        ok=free > _LOW_DISK_GIB,
        says=f"{free:.0f} GiB free for {cache}",
        needed=False,
        mend="free some, or name another cache with SWEQUARRY_CACHE",
    )

"""`doctor`: what this machine has, what is missing, and the command that mends it."""

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from swequarry.cli.app import command_group
from swequarry.cli.console import print_json, print_lines
from swequarry.cli.options import Json
from swequarry.cli.settings import resolve
from swequarry.config import SandboxSettings, Settings
from swequarry.errors import ExitCode, SwequarryError
from swequarry.git.run import Place, run_git
from swequarry.pipeline.workspace import default_cache
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import SandboxBackend
from swequarry.sandbox.docker_backend import DockerBackend
from swequarry.sandbox.interpreters import origin_of

group = command_group()

_GIB = 1024**3
_LOW_DISK_GIB = 5
_OLDEST_GIT = (2, 34)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. `needed` ones decide the exit code; `mend` is what to do where `ok` is false.

    `details` are lines that belong to it: where each interpreter lies.
    """

    name: str
    ok: bool
    says: str
    needed: bool = True
    mend: str = ""
    details: tuple[str, ...] = ()


@group.command()
def doctor(
    *,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Settings as YAML.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a setting.")] = None,
    as_json: Json = False,
) -> int:
    """Check git, sandboxes, interpreters and disk; exit code 5 if no sandbox can run.

    Example: `swequarry doctor --set sandbox.base_image=swequarry/base:local`
    """
    settings = resolve(config, set_ or [], {})
    checks = tuple(_checks(settings))
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        print_lines(line for check in checks for line in _lines(check))
    if all(check.ok for check in checks if check.needed):
        return ExitCode.OK
    sandbox = next(check for check in checks if check.name == f"sandbox {settings.sandbox.backend}")
    return ExitCode.FINDINGS if sandbox.ok else ExitCode.SANDBOX_UNAVAILABLE


def _lines(check: Check) -> Iterator[str]:
    mark = "ok" if check.ok else ("MISSING" if check.needed else "absent")
    yield f"{mark:8}{check.name}: {check.says}" + (f"; {check.mend}" if check.mend and not check.ok else "")
    yield from (f"{'':8}  {detail}" for detail in check.details)


def _checks(settings: Settings) -> Iterator[Check]:
    system = platform.system()
    yield Check(name="system", ok=system == "Linux", says=system, mend="SWEQuarry runs on Linux only")
    yield Check(name="python", ok=sys.version_info >= (3, 11), says=platform.python_version())
    yield _git()
    cache = (settings.cache or default_cache()).absolute()
    for name in ("bubblewrap", "docker"):
        chosen = settings.sandbox.model_copy(update={"backend": name})
        yield from _backend(chosen, cache, needed=name == settings.sandbox.backend)
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
    found = backend.interpreters()
    yield Check(
        name=f"interpreters in {settings.backend}",
        ok=bool(found),
        says=", ".join(python.version for python in found) or "none",
        needed=needed,
        mend="install a Python, for instance with `uv python install 3.9`",
        details=tuple(_places(backend)),
    )


def _places(backend: SandboxBackend) -> Iterator[str]:
    """Yield where each interpreter comes from: a base image, or a place of this machine."""
    if isinstance(backend, DockerBackend):
        for python, image in backend.bases.found():
            yield f"{python.version}: {python.path} in image {image}"
        return
    for python in backend.interpreters():
        yield f"{python.version}: {python.path} ({origin_of(python)})"


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

"""Makes a base image where no registry is reachable: a small Debian and the Pythons of this machine.

The Debian comes from the archive that this machine's own apt uses. The Pythons are put at the places they
have here, since one that was built shared finds its library and its scripts only there.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from swequarry.errors import SandboxError, SandboxUnavailableError
from swequarry.sandbox.contract import Interpreter
from swequarry.sandbox.docker_engine import DockerEngine, engine_trouble
from swequarry.sandbox.docker_images import LABEL_PYTHONS
from swequarry.sandbox.interpreters import discover
from swequarry.sandbox.trees import link_tree, remove_tree

SUITE = "bookworm"
PACKAGES = ("ca-certificates", "gcc", "git", "libc6-dev", "media-types", "netbase", "tzdata")
_TRIAL = "import bz2, ctypes, lzma, sqlite3, ssl, sys, zlib; print(sys.version)"
_WASTE = ("var/cache/apt", "var/lib/apt/lists", "var/log", "usr/share/doc", "usr/share/man")
_TIMEOUT_S = 1800


def _run(argv: Sequence[str | Path], what: str) -> str:
    """Run a host tool; return what it prints.

    Raises:
        SandboxError: it fails; has the end of its messages.
    """
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"can't {what}: {error}") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-600:]
        raise SandboxError(f"can't {what}: {said}")
    return done.stdout.decode("utf-8", "surrogateescape")


def archive_of_apt(suite: str = SUITE) -> str:
    """Return the address of the Debian archive that this machine's apt uses for a suite.

    Raises:
        SandboxUnavailableError: it uses none.
    """
    asked = "$(REPO_URI) $(CODENAME) $(ORIGIN) $(COMPONENT)"
    try:
        listed = _run(["apt-get", "indextargets", "--format", asked, "Created-By: Packages"], "ask apt")
    except SandboxError as error:
        raise SandboxUnavailableError(f"{error}; on a machine without apt use --mirror") from error
    for line in listed.splitlines():
        fields = line.split(" ")
        if fields[1:] == [suite, "Debian", "main"]:
            return fields[0]
    raise SandboxUnavailableError(
        f"apt has no index of Debian {suite} here: run `apt-get update`, or name an archive with --mirror"
    )


def _check_tools() -> None:
    if os.geteuid() != 0:
        raise SandboxUnavailableError("making a base image needs root (debootstrap): run it with sudo")
    if shutil.which("debootstrap") is None:
        raise SandboxUnavailableError("debootstrap isn't installed: apt-get install debootstrap")


def _libraries(prefix: Path) -> Iterator[Path]:
    """Yield the shared libraries outside an interpreter that its programs and modules load."""
    programs = [p for pattern in ("bin/python3.*", "lib/**/*.so", "lib/*.so.*") for p in prefix.glob(pattern)]
    wanted = [p for p in programs if p.is_file() and not p.is_symlink()]
    done = subprocess.run(["ldd", *wanted], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    for line in sorted(set(done.stdout.decode("utf-8", "surrogateescape").splitlines())):
        _, arrow, rest = line.strip().partition(" => ")
        path = Path(rest.rpartition(" (")[0])
        if arrow and path.is_absolute() and not path.is_relative_to(prefix):
            yield path


def _add_interpreter(python: Interpreter, root: Path) -> bool:
    """Put an interpreter without its installed packages into a root; whether it works there."""
    prefix = Path(python.prefix)
    place = root / prefix.relative_to("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    link_tree(prefix, place)
    for parent in place.relative_to(root).parents:
        (root / parent).chmod(0o755)
    minor = ".".join(python.version.split(".")[:2])
    remove_tree(place / "lib" / f"python{minor}" / "site-packages")
    (place / "lib" / f"python{minor}" / "site-packages").mkdir()
    for static in place.glob("lib/**/libpython*.a"):
        static.unlink()
    for library in _libraries(prefix):
        inside = root / library.relative_to("/")
        if not inside.exists():
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, inside)
    _run(["chroot", root, "ldconfig"], "index the libraries of the image")
    try:
        return _run(["chroot", root, python.path, "-I", "-c", _TRIAL], "start it").startswith(python.version)
    except SandboxError:
        remove_tree(place)
        return False


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="swequarry-base-", dir="/var/tmp"))
    try:
        yield folder
    finally:
        remove_tree(folder)


def make_base_image(
    tag: str,
    *,
    mirror: str | None = None,
    suite: str = SUITE,
    packages: Sequence[str] = PACKAGES,
    interpreters: Sequence[Interpreter] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Interpreter, ...]:
    """Make a local docker image for `sandbox.base_image`; return the Pythons that work in it.

    `interpreters` are those of this machine by default, the system's own left out. An image that has the
    tag loses it only once the new one is whole.

    Raises:
        SandboxUnavailableError: not root, or debootstrap, the engine or a Debian archive is missing.
        SandboxError: a step failed.
    """
    _check_tools()
    engine = DockerEngine()
    with engine_trouble("reach the engine"):
        engine.api.ping()
    archive = mirror or archive_of_apt(suite)
    wanted = discover() if interpreters is None else interpreters
    with _scratch() as folder:
        root = folder / "root"
        progress(f"debootstrap {suite}")
        _make_debian(root, suite, archive, packages)
        working = []
        for python in wanted:
            if not python.prefix.startswith("/usr"):
                progress(f"python {python.version}")
                working += [python] if _add_interpreter(python, root) else []
        if not working:
            raise SandboxError("no Python of this machine works in the image: uv python install 3.11")
        progress(f"docker import {tag}")
        _import(engine, tag, root, folder / "root.tar", working)
    return tuple(working)


def _make_debian(root: Path, suite: str, archive: str, packages: Sequence[str]) -> None:
    chosen = ",".join(packages)
    argv = ["debootstrap", "--variant=minbase", f"--include={chosen}", suite, os.fspath(root), archive]
    _run(argv, "make a Debian")
    for waste in _WASTE:
        remove_tree(root / waste)
        (root / waste).mkdir()


def _import(engine: DockerEngine, tag: str, root: Path, packed: Path, pythons: Sequence[Interpreter]) -> None:
    _run(["tar", "--numeric-owner", "--sort=name", "-C", root, "-cf", packed, "."], "pack the image")
    described = json.dumps([{"version": p.version, "path": p.path, "prefix": p.prefix} for p in pythons])
    repository, _, version = tag.rpartition(":")
    with engine_trouble(f"import {tag}"):
        said = engine.api.import_image(
            src=os.fspath(packed),
            repository=repository or version,
            tag=version if repository else "latest",
            changes=[f"LABEL {LABEL_PYTHONS}={json.dumps(described)}", 'CMD ["/bin/sh"]'],
        )
    if '"error"' in str(said):
        raise SandboxError(f"docker: can't import {tag}: {said}")

"""What the bubblewrap backend knows of its host: tools, interpreters, and what is reachable."""

import contextlib
import platform
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from swequarry.errors import SandboxError, SandboxUnavailableError
from swequarry.sandbox.bubblewrap_argv import Plan, Root
from swequarry.sandbox.bubblewrap_launch import COUNTS_APART, Starter, execute
from swequarry.sandbox.bubblewrap_probe import find_bubblewrap, missing_programs, narrow
from swequarry.sandbox.bubblewrap_store import ROOTS, StoredWorld, WorldStore, make_top
from swequarry.sandbox.contract import INDEX_SOCKET, Bind, Command, ExecResult, Interpreter, Limits
from swequarry.sandbox.host import is_reachable, linux_release
from swequarry.sandbox.interpreters import discover
from swequarry.sandbox.reach import shown_copy
from swequarry.sandbox.seccomp import filter_program
from swequarry.sandbox.settled import ACCOUNT_FILES, NAME_FILES
from swequarry.sandbox.watchdog import can_watch

_MOUNT_POINTS = ("/srv", "/media", "/mnt")
_NO_WORLD = StoredWorld(key="", layers=())
_TRIAL_BYTES = 4 * 1024**2
_TRIAL_LIMITS = Limits(wall_s=60, tmp_bytes=1024**2, disk_bytes=1024**2)
_TMPFS_KEEPS_ATTRIBUTES = (6, 6)
"""The Linux release since which tmpfs has `user.` attributes, which overlayfs needs for opaque folders."""


class BubblewrapHost:
    """Starts sandboxes of one store on this machine."""

    def __init__(self, store: WorldStore) -> None:
        self.store = store
        self._ready = False

    # --- what is where ---------------------------------------------------------------------------

    @cached_property
    def starter(self) -> Starter:
        """The programs and the view of the store that sandboxes are started with."""
        found, unshare = find_bubblewrap(), shutil.which("unshare")
        if found is None or unshare is None:
            raise SandboxUnavailableError("; ".join(missing_programs()))
        store = self.store.path
        reachable = not self.store.owner.drop or is_reachable(store, self.store.owner)
        point = store if reachable else Path(next(p for p in _MOUNT_POINTS if Path(p).is_dir()))
        return Starter(
            bubblewrap=shown_copy(self.store, found.program, found.folder),
            unshare=unshare,
            identity=self.store.owner,
            store=store,
            shown_at=point,
        )

    @cached_property
    def memory_uppers(self) -> bool:
        """Whether what a run writes can be kept in a tmpfs here."""
        return linux_release() >= _TMPFS_KEEPS_ATTRIBUTES

    @property
    def scratch(self) -> Path:
        """Where a run's bounded tmpfs is mounted."""
        return self.store.path / "scratch"

    def roots(self, world: StoredWorld, top: Path, delta: Path | None = None) -> tuple[Root, Root]:
        """Return the two roots of a world with writes below `top` and a delta's layer on the tree.

        `top` has a folder and a `.work` folder for each root.
        """
        found = []
        for name, target in ROOTS.items():
            layers = self.layer_folders(world, name)
            if delta is not None and name == "testbed":
                layers = (*layers, delta)
            found.append(Root(target=target, layers=layers, upper=top / name, work=top / f"{name}.work"))
        return found[0], found[1]

    def layer_folders(self, world: StoredWorld, root: str) -> tuple[Path, ...]:
        """Return the layers of a root from bottom to top, never none."""
        folders = (self.store.layer(layer) / root for layer in world.layers)
        return (self.store.path / "empty", *(folder for folder in folders if folder.is_dir()))

    @cached_property
    def _etc(self) -> Path:
        """The folder with our files of /etc, whole or not there."""
        folder = self.store.path / "etc-1"
        if not folder.is_dir():
            with self.store.private_folder() as private:
                made = private / "etc"
                made.mkdir(mode=0o755)
                for name, text in {**ACCOUNT_FILES, **NAME_FILES}.items():
                    (made / name).write_text(text, encoding="ascii")
                    (made / name).chmod(0o644)
                with contextlib.suppress(FileExistsError):
                    made.rename(folder)
        return folder

    def reach(
        self, binds: Sequence[Bind], index_socket: Path | None, folder: Path
    ) -> tuple[tuple[Bind, ...], tuple[tuple[Path, Path], ...]]:
        """Return binds that the sandbox's uid can reach, and what root has to mount for it in `folder`.

        The socket is opened to that uid: connecting needs the permission to write.

        Raises:
            SandboxError: a source doesn't exist.
        """
        wanted = list(binds)
        if index_socket is not None:
            wanted.append(Bind(source=index_socket, target=INDEX_SOCKET))
            with contextlib.suppress(OSError):
                index_socket.chmod(0o666)
        mounts = []
        for number, bind in enumerate(wanted):
            if not bind.source.exists():
                raise SandboxError(f"{bind.source} doesn't exist; it was to be shown at {bind.target}")
            if self.store.owner.drop and not is_reachable(bind.source, self.store.owner):
                point = folder / f"bind{number}"
                point.mkdir() if bind.source.is_dir() else point.touch()
                mounts.append((bind.source.absolute(), point))
                wanted[number] = Bind(source=point, target=bind.target)
        return tuple(wanted), tuple(mounts)

    def plan(
        self,
        roots: tuple[Root, Root],
        interpreter: Interpreter | None,
        binds: tuple[Bind, ...] = (),
        unreachable: tuple[tuple[Path, Path], ...] = (),
    ) -> Plan:
        """Return what a sandbox is made of."""
        pythons: tuple[tuple[Path, Interpreter], ...] = ()
        if interpreter is not None:
            pythons = ((shown_copy(self.store, Path(interpreter.prefix)), interpreter),)
        return Plan(
            roots=roots,
            scratch=self.scratch,
            etc=self._etc,
            empty=self.store.path / "empty",
            interpreters=pythons,
            binds=binds,
            unreachable=unreachable,
        )

    # --- can it work here ------------------------------------------------------------------------

    def _trial(self, argv: tuple[str, ...], python: Interpreter | None = None) -> ExecResult:
        """Run something in a sandbox without a world; an interpreter is mounted, not copied, for this."""
        plan = self.plan(self.roots(_NO_WORLD, self.scratch), None)
        with self.store.private_folder() as folder:
            if python is not None:
                binds, mounts = self.reach([Bind(source=Path(python.prefix), target="")], None, folder)
                plan = replace(plan, interpreters=((binds[0].source, python),), unreachable=mounts)
            return self._try(plan, argv)

    def _try(self, plan: Plan, argv: tuple[str, ...] = ("/bin/true",)) -> ExecResult:
        command = Command(argv=argv, cwd="/")
        return execute(self.starter, plan, command, _TRIAL_LIMITS, scratch_bytes=_TRIAL_BYTES)

    def _trouble(self, plan: Plan) -> str | None:
        try:
            end = self._try(plan)
        except SandboxError as error:
            return str(error)
        return None if end.ok else end.output.decode("utf-8", "replace")

    def _trouble_in_memory(self) -> tuple[str, ...]:
        missing = missing_programs()
        if missing:
            return missing
        trouble = self._trouble(self.plan(self.roots(_NO_WORLD, self.scratch), None))
        return () if trouble is None else narrow(self.starter, trouble)

    def probe(self) -> tuple[str, ...]:
        """Run the real thing once with each kind of writable layer; when it fails, narrow down why."""
        missing = self._trouble_in_memory()
        if missing:
            return missing
        with self.store.private_folder() as folder:
            make_top(self.store, folder / "top")
            trouble = self._trouble(self.plan(self.roots(_NO_WORLD, folder / "top"), None))
        if trouble is None:
            return ()
        why = trouble.strip()[-200:]
        return (
            f"{self.store.path} can't hold writable layers ({why}): put the workspace on ext4, xfs or btrfs",
        )

    def require(self) -> None:
        """Make sure that sandboxes start here; asked once.

        Raises:
            SandboxUnavailableError: they don't; says what is missing and what mends it.
        """
        if not self._ready:
            missing = self._trouble_in_memory()
            if missing:
                raise SandboxUnavailableError("bubblewrap can't run sandboxes here: " + "; ".join(missing))
            self._ready = True

    def _runs_inside(self, python: Interpreter) -> bool:
        """Whether an interpreter is itself inside: one that finds other libraries says another version."""
        end = self._trial((python.path, "-I", "-c", "import sys, zlib; print(sys.version)"), python)
        return end.ok and end.output.decode("utf-8", "replace").startswith(f"{python.version} ")

    @cached_property
    def interpreters(self) -> tuple[Interpreter, ...]:
        """The Pythons that run inside, newest first; tried once for each state of this machine.

        Raises:
            SandboxError: one couldn't be tried; that says nothing about it.
        """
        self.require()
        return discover(cache=self.store.path / "interpreters.json", runs=self._runs_inside)

    def weaknesses(self) -> tuple[str, ...]:
        """Return the promises that can't be kept on this machine."""
        found = [
            "a burst can pass the memory limit for a moment, because memory is watched from outside",
            "memory that no process maps (files in tmpfs, memfd) is bounded by the tmpfs limit or not at all",
            "refused forks are seen only while the processes that fill the limit are alive",
            "what a sandbox of `create` writes to disk is measured once a second, so it can pass its limit",
        ]
        if linux_release() < COUNTS_APART:
            found.append("this kernel (before Linux 5.14) doesn't refuse forks: too many end the run instead")
        if not can_watch():
            found.append("memory isn't limited: this kernel was built without CONFIG_PROC_CHILDREN")
        if filter_program() is None:
            found.append(f"system calls aren't filtered: no filter is known for {platform.machine()}")
        return tuple(found)

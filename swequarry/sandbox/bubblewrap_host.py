"""What the bubblewrap backend knows of its host: tools, interpreters, what is reachable, how to start."""

import fcntl
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from swequarry.errors import SandboxError, SandboxUnavailableError
from swequarry.sandbox import bubblewrap_argv as argv
from swequarry.sandbox.bubblewrap_probe import find_bubblewrap, narrow
from swequarry.sandbox.bubblewrap_store import StoredWorld, WorldStore
from swequarry.sandbox.contract import (
    ENVIRONMENT,
    TESTBED,
    Bind,
    Command,
    EndedBy,
    ExecResult,
    Interpreter,
    Limits,
)
from swequarry.sandbox.host import is_reachable
from swequarry.sandbox.interpreters import discover
from swequarry.sandbox.reach import shown_copy
from swequarry.sandbox.seccomp import filter_program
from swequarry.sandbox.supervise import Launch, RawEnd, supervise
from swequarry.sandbox.watchdog import can_watch

_FIRST_FREE_DESCRIPTOR = 10
"""Shells redirect single-digit descriptors only, and 3 is the report."""
_SIGNAL_BASE, _LAST_SIGNAL = 128, 64
_MOUNT_POINTS = ("/mnt", "/media", "/srv")
_PROBE_LIMITS = Limits(wall_s=20, tmp_bytes=1024**2, disk_bytes=1024**2)


@dataclass(frozen=True, slots=True)
class Tools:
    """The programs that start a sandbox, where its uid can run them."""

    bubblewrap: Path
    unshare: str


def _high(descriptor: int) -> int:
    """Move a descriptor above those that the starting shell uses."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
    os.close(descriptor)
    return moved


def _in_memory(name: str, content: bytes) -> int:
    descriptor = _high(os.memfd_create(name))
    with open(os.dup(descriptor), "wb") as handle:  # noqa: PTH123 - a descriptor has no path
        handle.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _interpret(end: RawEnd) -> ExecResult:
    code = end.status.get("exit-code")
    if end.killed_by is not None:
        code, ended_by = None, end.killed_by
    elif end.main_killed:
        code, ended_by = None, EndedBy.MEMORY_LIMIT
    elif code is None:
        said = (end.output + b"\n" + end.report).decode("utf-8", "replace").strip()
        raise SandboxError(f"the sandbox broke before its command ended: {said[-400:] or 'no message'}")
    elif _SIGNAL_BASE < code <= _SIGNAL_BASE + _LAST_SIGNAL:
        ended_by = EndedBy.SIGNALLED
    else:
        ended_by = EndedBy.EXITED
    return ExecResult(
        exit_code=code,
        ended_by=ended_by,
        output=end.output,
        report=end.report,
        memory_events=end.memory_events,
        process_events=end.process_events,
        duration_s=end.duration_s,
    )


class BubblewrapHost:
    """Starts sandboxes of one store on this machine."""

    def __init__(self, store: WorldStore) -> None:
        self.store = store
        self._ready = False

    # --- what is where -----------------------------------------------------------------------------

    @cached_property
    def _shown_store(self) -> Path:
        """The store as its sandboxes' uid sees it: at its place, or at a mount point that root makes."""
        if not self.store.owner.drop or is_reachable(self.store.path, self.store.owner):
            return self.store.path
        return Path(next(point for point in _MOUNT_POINTS if Path(point).is_dir()))

    def _shown(self, path: Path) -> Path:
        if self._shown_store != self.store.path and path.is_relative_to(self.store.path):
            return self._shown_store / path.relative_to(self.store.path)
        return path

    @cached_property
    def _tools(self) -> Tools:
        found, unshare = find_bubblewrap(), shutil.which("unshare")
        if found is None or unshare is None:
            raise SandboxUnavailableError("; ".join(self.probe()))
        return Tools(shown_copy(self.store, found.program, found.folder), unshare)

    @property
    def scratch(self) -> Path:
        """Where a run's bounded tmpfs is mounted, seen from its sandbox."""
        return self._shown(self.store.path / "scratch")

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
                for name, text in argv.ETC_FILES.items():
                    (made / name).write_text(text, encoding="ascii")
                    (made / name).chmod(0o644)
                if not folder.exists():
                    made.rename(folder)
        return folder

    def interpreters(self) -> tuple[Interpreter, ...]:
        """Return the Pythons that run inside, newest first."""
        return self._interpreters

    @cached_property
    def _interpreters(self) -> tuple[Interpreter, ...]:
        return discover()

    # --- starting ----------------------------------------------------------------------------------

    def plan(
        self,
        roots: tuple[argv.Root, argv.Root],
        world: StoredWorld,
        binds: tuple[Bind, ...],
        index_socket: Path | None,
    ) -> argv.Plan:
        """Return what a sandbox of a world is made of, with every path reachable."""
        python = world.interpreter
        pythons = () if python is None else ((shown_copy(self.store, Path(python.prefix)), python),)
        return argv.Plan(
            roots=roots,
            scratch=self.scratch,
            etc=self._etc,
            empty=self.store.path / "empty",
            interpreters=pythons,
            binds=tuple(Bind(source=shown_copy(self.store, b.source), target=b.target) for b in binds),
            index_socket=index_socket,
        )

    def execute(
        self, plan: argv.Plan, command: Command, limits: Limits, *, scratch_bytes: int, disk: Path | None
    ) -> ExecResult:
        """Run one command in a sandbox of its own.

        `disk` is the folder on disk that the sandbox writes to, None when it writes to memory only.
        """
        del disk
        options = argv.sandbox_options(self._relocate(plan), command.variables, command.cwd)
        program = filter_program()
        handed = [_in_memory("options", options)]
        start = [os.fspath(self._shown(self._tools.bubblewrap)), "--args", str(handed[0])]
        if program is not None:
            handed.append(_in_memory("filter", program))
            start += ["--seccomp", str(handed[1])]
        reader, writer = (_high(end) for end in os.pipe2(os.O_CLOEXEC))
        start += ["--json-status-fd", str(writer), "--", *argv.limited(command.argv, limits)]
        try:
            launch = Launch(
                argv=(*self._prefix(scratch_bytes), *start),
                descriptors=tuple(handed),
                status_reader=reader,
                status_writer=writer,
                identity=self.store.owner,
                stay_root=self._shown_store != self.store.path,
            )
            return _interpret(supervise(launch, limits, command.stdin))
        finally:
            for descriptor in handed:
                os.close(descriptor)

    def _prefix(self, scratch_bytes: int) -> tuple[str, ...]:
        unshare = self._tools.unshare
        prefix = argv.scratch_prefix(unshare, self.scratch, scratch_bytes)
        if self._shown_store == self.store.path:
            return prefix
        owner = (self.store.owner.uid, self.store.owner.gid)
        return (*argv.reach_prefix(unshare, self.store.path, self._shown_store, owner), *prefix)

    def _relocate(self, plan: argv.Plan) -> argv.Plan:
        if self._shown_store == self.store.path:
            return plan

        def moved(root: argv.Root) -> argv.Root:
            return argv.Root(
                target=root.target,
                layers=tuple(map(self._shown, root.layers)),
                upper=self._shown(root.upper),
                work=self._shown(root.work),
            )

        return argv.Plan(
            roots=(moved(plan.roots[0]), moved(plan.roots[1])),
            scratch=plan.scratch,
            etc=self._shown(plan.etc),
            empty=self._shown(plan.empty),
            interpreters=tuple((self._shown(source), python) for source, python in plan.interpreters),
            binds=tuple(Bind(source=self._shown(b.source), target=b.target) for b in plan.binds),
            index_socket=self._shown(plan.index_socket) if plan.index_socket else None,
        )

    # --- can it work here ----------------------------------------------------------------------------

    def _trial(self, command: Sequence[str] = ("/bin/true",)) -> ExecResult:
        world = StoredWorld(key="", layers=())
        roots = [
            argv.Root(
                target=target,
                layers=self.layer_folders(world, name),
                upper=self.scratch / name,
                work=self.scratch / f"{name}.work",
            )
            for name, target in (("testbed", TESTBED), ("env", ENVIRONMENT))
        ]
        plan = self.plan((roots[0], roots[1]), world, (), None)
        return self.execute(
            plan, Command(argv=tuple(command)), _PROBE_LIMITS, scratch_bytes=2 << 20, disk=None
        )

    def probe(self) -> tuple[str, ...]:
        """Run the real thing once; when it fails, narrow down what is missing."""
        if find_bubblewrap() is None or shutil.which("unshare") is None:
            return narrow(None, "")
        try:
            end = self._trial()
        except SandboxError as error:
            return narrow(self._tools, str(error))
        return () if end.ok else narrow(self._tools, end.output.decode("utf-8", "replace"))

    def require(self) -> None:
        """Raise `SandboxUnavailableError` unless a sandbox was started here before or can be now."""
        if not self._ready:
            missing = self.probe()
            if missing:
                raise SandboxUnavailableError("bubblewrap can't run sandboxes here: " + "; ".join(missing))
            self._ready = True

    def weaknesses(self) -> tuple[str, ...]:
        """Return the promises that can't be kept on this machine."""
        found = [
            (
                "memory is watched from outside, so a burst can pass the limit for a moment, and what no process "
                "maps (tmpfs files, memfd) isn't counted; tmpfs has its own limit"
            ),
            "refused forks are seen only while the processes that filled the limit are alive",
        ]
        if not can_watch():
            found.append("memory isn't limited: this kernel lacks CONFIG_PROC_CHILDREN")
        if filter_program() is None:
            found.append("system calls aren't filtered: no filter is known for this processor")
        return tuple(found)

"""Turns a plan into one started, supervised and interpreted bubblewrap run."""

import contextlib
import fcntl
import os
from dataclasses import dataclass, replace
from pathlib import Path

from swequarry.errors import SandboxError
from swequarry.sandbox.bubblewrap_argv import (
    Plan,
    Root,
    limited,
    reach_prefix,
    sandbox_options,
    scratch_prefix,
)
from swequarry.sandbox.contract import Bind, Command, EndedBy, ExecResult, Limits
from swequarry.sandbox.host import HostIdentity, linux_release
from swequarry.sandbox.seccomp import filter_program
from swequarry.sandbox.supervise import Launch, RawEnd, supervise

_FIRST_FREE_DESCRIPTOR = 10
"""Shells redirect single-digit descriptors only, and 3 is the report."""
COUNTS_APART = (5, 14)
"""The Linux release since which RLIMIT_NPROC counts for each user namespace."""
_SIGNAL_BASE, _LAST_SIGNAL = 128, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """The programs that start a sandbox, whose it is, and where its uid finds the store.

    `shown_at` differs from `store` only where that uid can't walk to the store.
    """

    bubblewrap: Path
    unshare: str
    identity: HostIdentity
    store: Path
    shown_at: Path

    def shown(self, path: Path) -> Path:
        """Return a path as the sandbox's uid reaches it."""
        if self.shown_at != self.store and path.is_relative_to(self.store):
            return self.shown_at / path.relative_to(self.store)
        return path

    def prefix(self, plan: Plan, scratch_bytes: int) -> tuple[str, ...]:
        """Return the programs that run before bubblewrap."""
        prefix = scratch_prefix(self.unshare, plan.scratch, scratch_bytes)
        mounts = list(plan.unreachable)
        if self.shown_at != self.store:
            mounts.append((self.store, self.shown_at))
        if not mounts:
            return prefix
        return (*reach_prefix(self.unshare, mounts, (self.identity.uid, self.identity.gid)), *prefix)

    def relocate(self, plan: Plan) -> Plan:
        """Return a plan with every path as the sandbox's uid reaches it."""
        if self.shown_at == self.store:
            return plan

        def moved(root: Root) -> Root:
            return replace(
                root,
                layers=tuple(map(self.shown, root.layers)),
                upper=self.shown(root.upper),
                work=self.shown(root.work),
            )

        return replace(
            plan,
            roots=(moved(plan.roots[0]), moved(plan.roots[1])),
            scratch=self.shown(plan.scratch),
            etc=self.shown(plan.etc),
            empty=self.shown(plan.empty),
            interpreters=tuple((self.shown(source), python) for source, python in plan.interpreters),
            binds=tuple(Bind(source=self.shown(b.source), target=b.target) for b in plan.binds),
        )


def _high(descriptor: int) -> int:
    """Move a descriptor above those that the starting shell uses."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
    os.close(descriptor)
    return moved


def _in_memory(name: str, content: bytes, held: contextlib.ExitStack) -> int:
    descriptor = _high(os.memfd_create(name))
    held.callback(os.close, descriptor)
    with open(os.dup(descriptor), "wb") as handle:  # noqa: PTH123 - a descriptor has no path
        handle.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _status_pipe(held: contextlib.ExitStack) -> tuple[int, int]:
    """Return both ends of a pipe whose writing end the supervisor closes when the process has it."""
    reader, writer = (_high(end) for end in os.pipe2(os.O_CLOEXEC))
    held.callback(os.close, reader)
    return reader, writer


def _interpret(end: RawEnd) -> ExecResult:
    code = end.status.get("exit-code")
    if not end.started or (code is None and end.killed_by is None and not end.main_killed):
        said = (end.output + b"\n" + end.report).decode("utf-8", "replace").strip()
        why = end.killed_by.value if end.killed_by else said[-400:] or "no message"
        raise SandboxError(f"the sandbox broke before its command ended: {why}")
    if end.killed_by is not None:
        code, ended_by = None, end.killed_by
    elif end.main_killed:
        code, ended_by = None, EndedBy.MEMORY_LIMIT
    elif code is not None and _SIGNAL_BASE < code <= _SIGNAL_BASE + _LAST_SIGNAL:
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


def execute(
    starter: Starter,
    plan: Plan,
    command: Command,
    limits: Limits,
    *,
    scratch_bytes: int,
    disk: Path | None = None,
) -> ExecResult:
    """Run one command in a sandbox of its own.

    `scratch_bytes` bounds what it writes to memory, `disk` is the folder where it writes to disk, if any.

    Raises:
        SandboxError: the machinery broke.
    """
    command.check()
    options = sandbox_options(starter.relocate(plan), command.variables, command.cwd)
    program = filter_program()
    with contextlib.ExitStack() as held:
        handed = [_in_memory("options", options, held)]
        start = [os.fspath(starter.shown(starter.bubblewrap)), "--args", str(handed[0])]
        if program is not None:
            handed.append(_in_memory("filter", program, held))
            start += ["--seccomp", str(handed[1])]
        reader, writer = _status_pipe(held)
        own_count = linux_release() >= COUNTS_APART
        start += ["--json-status-fd", str(writer), "--", *limited(command.argv, limits, own_count=own_count)]
        prefix = starter.prefix(replace(plan, scratch=starter.shown(plan.scratch)), scratch_bytes)
        launch = Launch(
            argv=(*prefix, *start),
            descriptors=tuple(handed),
            status_reader=reader,
            status_writer=writer,
            identity=starter.identity,
            stay_root=starter.shown_at != starter.store or bool(plan.unreachable),
            disk=disk,
        )
        return _interpret(supervise(launch, limits, command.stdin))

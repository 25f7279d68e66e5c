"""The docker engine as this backend uses it: sealed containers, one start per run, labels on everything."""

import contextlib
import io
import json
import os
import signal
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import docker
from docker.errors import DockerException, ImageNotFound, NotFound
from docker.utils import kwargs_from_env
from requests.exceptions import RequestException

from swequarry.errors import SandboxError, SandboxUnavailableError
from swequarry.sandbox.contract import INDEX_SOCKET, Bind, EndedBy, ExecResult, Limits
from swequarry.sandbox.docker_store import SANDBOX_ID
from swequarry.sandbox.docker_talk import Heard, converse
from swequarry.sandbox.settled import ACCOUNT_FILES, HOME

LABEL_STORE, LABEL_RUN, LABEL_KEY = "swequarry.store", "swequarry.run", "swequarry.world"
_TIMEOUT_S = 600
_SHM_BYTES = 256 * 1024**2
_BROKEN = (DockerException, RequestException, OSError)
"""What the library raises when the engine is gone or says no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a container is made from; `boot` is the Python in the image that runs the first process.

    `runtime` is a runtime of the engine, None for its default.
    """

    image: str
    boot: str
    run: str
    store: str
    binds: tuple[Bind, ...] = ()
    index_socket: Path | None = None
    runtime: str | None = None


def boot_program() -> str:
    """Return the source of the first process."""
    return resources.files("swequarry.sandbox.inside").joinpath("boot.py").read_text(encoding="utf-8")


@contextlib.contextmanager
def engine_trouble(what: str) -> Iterator[None]:
    """Turn what the library raises into SandboxError."""
    try:
        yield
    except _BROKEN as error:
        raise SandboxError(f"docker: can't {what}: {error}") from error


def _tmpfs(limits: Limits) -> dict[str, str]:
    """Bound the folders in memory; below the memory limit, since they count against it."""
    size = min(limits.tmp_bytes, limits.memory_bytes // 2)
    return {
        "/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={size}",  # noqa: S108
        "/var/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={size}",  # noqa: S108
        HOME: f"rw,exec,nosuid,nodev,mode=755,uid={SANDBOX_ID},gid={SANDBOX_ID},size={size}",
        "/run": "rw,nosuid,nodev,mode=755,size=1m",
    }


def settled_tar() -> bytes:
    """Return the files that make any base image ours: accounts, home, the two roots."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in ACCOUNT_FILES.items():
            member = tarfile.TarInfo(f"etc/{name}")
            member.size, member.mode = len(text), 0o644
            archive.addfile(member, io.BytesIO(text.encode("ascii")))
        for folder in (HOME, "/testbed", "/opt/swequarry"):
            member = tarfile.TarInfo(folder.lstrip("/"))
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            member.uid = member.gid = SANDBOX_ID
            archive.addfile(member)
    return packed.getvalue()


class DockerEngine:
    """A connection for each thread and process, opened when it is needed."""

    def __init__(self) -> None:
        self._local = threading.local()

    @property
    def api(self) -> Any:
        """The low-level client of this thread.

        Raises:
            SandboxUnavailableError: no engine answers.
        """
        if getattr(self._local, "pid", None) != os.getpid():
            try:
                self._local.client = docker.APIClient(version="auto", timeout=_TIMEOUT_S, **kwargs_from_env())
            except _BROKEN as error:
                raise SandboxUnavailableError(
                    f"no docker engine answers ({error}): run `systemctl start docker` or `dockerd`, "
                    "and be root or in the group docker"
                ) from error
            self._local.pid = os.getpid()
        return self._local.client

    def missing_runtime(self, name: str | None) -> tuple[str, ...]:
        """Return what to do where the engine doesn't know a runtime; nothing for its default."""
        with engine_trouble("ask for the engine's runtimes"):
            known = sorted(self.api.info().get("Runtimes") or ()) if name else []
        if name is None or name in known:
            return ()
        mend = "add it to `runtimes` in the engine's daemon.json and restart it, or unset sandbox.runtime"
        return (f"the Docker engine has no runtime {name} (it has {', '.join(known)}): {mend}",)

    # --- images ------------------------------------------------------------------------------------

    def image(self, name: str) -> Mapping[str, Any] | None:
        """Return what the engine says of a local image, None where it has none."""
        with engine_trouble(f"look at image {name}"):
            try:
                found: Mapping[str, Any] = self.api.inspect_image(name)
            except ImageNotFound:
                return None
            return found

    def remove_image(self, name: str) -> None:
        """Delete an image; one that isn't there is fine."""
        with engine_trouble(f"remove image {name}"), contextlib.suppress(ImageNotFound, NotFound):
            self.api.remove_image(name, force=True)

    def labelled_images(self, store: str) -> list[tuple[str, str]]:
        """Return (id, name of the world) of all images with a store's label."""
        with engine_trouble("list images"):
            found = self.api.images(filters={"label": f"{LABEL_STORE}={store}"})
        return [(i["Id"], i["Labels"].get(LABEL_KEY, "")) for i in found]

    # --- containers --------------------------------------------------------------------------------

    def create(self, recipe: Recipe, limits: Limits) -> str:
        """Make a container that is sealed off, not started; return its id.

        Raises:
            SandboxError: the engine refuses (no image, no space).
        """
        volumes = {os.fspath(b.source.absolute()): {"bind": b.target, "mode": "ro"} for b in recipe.binds}
        if recipe.index_socket is not None:
            volumes[os.fspath(recipe.index_socket.absolute())] = {"bind": INDEX_SOCKET, "mode": "ro"}
        with engine_trouble("create a container"):
            host = self.api.create_host_config(
                network_mode="none",
                extra_hosts={"sandbox": "127.0.0.1"},
                sysctls={"net.ipv6.conf.all.disable_ipv6": "0"},
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                ipc_mode="private",
                log_config={"Type": "none"},
                shm_size=_SHM_BYTES,
                tmpfs=_tmpfs(limits),
                binds=volumes,
                mem_limit=limits.memory_bytes,
                memswap_limit=limits.memory_bytes,
                pids_limit=limits.processes,
                runtime=recipe.runtime,
            )
            made = self.api.create_container(
                recipe.image,
                [recipe.boot, "-I", "-S", "-c", boot_program()],
                entrypoint=[],
                user=f"{SANDBOX_ID}:{SANDBOX_ID}",
                hostname="sandbox",
                working_dir="/",
                stdin_open=True,
                environment={"LC_ALL": "C.UTF-8"},
                labels={LABEL_STORE: recipe.store, LABEL_RUN: recipe.run},
                host_config=host,
            )
        return str(made["Id"])

    def fit(self, container: str, limits: Limits) -> None:
        """Give a stopped container other limits of memory and processes."""
        data = {
            "Memory": limits.memory_bytes,
            "MemorySwap": limits.memory_bytes,
            "PidsLimit": limits.processes,
        }
        with engine_trouble("change a container's limits"):
            # the library's own update call knows no PidsLimit
            url = self.api._url("/containers/{0}/update", container)  # noqa: SLF001
            self.api._raise_for_status(self.api._post_json(url, data=data))  # noqa: SLF001

    def unpack(self, container: str, archive: bytes | Path) -> None:
        """Put a tar archive's members in place below `/`, as root."""
        with engine_trouble("copy files into a container"), contextlib.ExitStack() as held:
            data = archive if isinstance(archive, bytes) else held.enter_context(archive.open("rb"))
            self.api.put_archive(container, "/", data)

    def commit(self, container: str, name: str, labels: Mapping[str, str]) -> None:
        """Store a container's files as an image, with nothing of how it was run."""
        tag, _, version = name.partition(":")
        changes = ["CMD []", "ENTRYPOINT []", "USER root", "WORKDIR /testbed", "ENV LC_ALL=C.UTF-8"]
        changes += [f"LABEL {key}={json.dumps(value)}" for key, value in labels.items()]
        with engine_trouble(f"commit {name}"):
            self.api.commit(container, repository=tag, tag=version, changes=changes)

    def kill(self, container: str) -> None:
        """End a container's processes; one that has ended is fine."""
        with engine_trouble("kill a container"), contextlib.suppress(NotFound):
            try:
                self.api.kill(container, signal="KILL")
            except docker.errors.APIError as error:
                if error.status_code != 409:  # noqa: PLR2004 - not running any more
                    raise

    def remove(self, container: str) -> None:
        """Delete a container with everything in it; one that isn't there is fine."""
        with engine_trouble("remove a container"), contextlib.suppress(NotFound):
            self.api.remove_container(container, force=True, v=True)

    def labelled_containers(self, store: str) -> list[tuple[str, str]]:
        """Return (id, run) of all containers with a store's label."""
        with engine_trouble("list containers"):
            found = self.api.containers(all=True, filters={"label": f"{LABEL_STORE}={store}"})
        return [(c["Id"], c["Labels"].get(LABEL_RUN, "")) for c in found]

    def exchange(self, container: str, send: bytes, limits: Limits) -> tuple[Heard, Mapping[str, Any]]:
        """Start a container, send it a request, listen to its end; return that and its last state.

        Raises:
            SandboxError: the engine broke.
        """
        began = time.monotonic()
        with engine_trouble("run a container"):
            asked = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            attached = self.api.attach_socket(container, params=asked)
            channel = getattr(attached, "_sock", attached)
            try:
                self.api.start(container)
                deadline = began + limits.wall_s
                heard = converse(channel, send, limits, lambda: self.kill(container), deadline)
                self._await_end(container, heard, deadline)
                state: Mapping[str, Any] = self.api.inspect_container(container)["State"]
            finally:
                attached.close()
        return heard, state

    def _await_end(self, container: str, heard: Heard, deadline: float) -> None:
        """Wait for a container that has closed its streams; kill it at the deadline."""
        try:
            self.api.wait(container, timeout=max(1.0, deadline - time.monotonic()))
        except RequestException:
            heard.killed_by = heard.killed_by or EndedBy.WALL_LIMIT
            self.kill(container)
            self.api.wait(container, timeout=_TIMEOUT_S)


def chore_answer(heard: Heard, state: Mapping[str, Any]) -> bytes:
    """Return what came after the first line of an answer that no command follows.

    Raises:
        FileNotFoundError: it says that nothing is there.
        SandboxError: it says why it can't, or nothing.
    """
    answer, rest = _answer(heard, state)
    if answer.get("missing"):
        raise FileNotFoundError(2, "no regular file")
    if not answer["ok"]:
        raise SandboxError(f"can't change or read the sandbox's tree: {answer['why']}")
    if len(rest) != answer.get("size", 0):
        raise SandboxError("a file came out of the container in part only")
    return rest


def _answer(heard: Heard, state: Mapping[str, Any]) -> tuple[Mapping[str, Any], bytes]:
    first, _, rest = bytes(heard.report).partition(b"\n")
    try:
        answer: Mapping[str, Any] = json.loads(first)
    except ValueError:
        said = bytes(heard.output).decode("utf-8", "replace").strip()[-400:]
        why = state.get("Error") or said or f"status {state.get('ExitCode')}"
        raise SandboxError(f"the container broke before its command started: {why}") from None
    return answer, rest


def interpret(
    heard: Heard, state: Mapping[str, Any], nonce: str, limits: Limits, duration_s: float
) -> ExecResult:
    """Turn what a container said and how it ended into a result.

    Raises:
        SandboxError: it didn't get as far as starting the command, or ended without saying how.
    """
    answer, rest = _answer(heard, state)
    if not answer["ok"]:
        raise SandboxError(f"the container can't start its command: {answer['why']}")
    report, mark, end = rest.rpartition(f"\n{nonce} ".encode("ascii"))
    said = json.loads(end) if mark else {}
    events = said.get("events", {"memory": 0, "processes": 0})
    memory_events = max(events["memory"], int(bool(state.get("OOMKilled"))))
    code, ended_by = _ending(heard.killed_by, said, memory_events, int(state.get("ExitCode", 0)))
    return ExecResult(
        exit_code=code,
        ended_by=ended_by,
        output=bytes(heard.output),
        report=report if mark else rest[: limits.report_bytes],
        memory_events=memory_events,
        process_events=events["processes"],
        duration_s=duration_s,
    )


def _ending(
    killed_by: EndedBy | None, said: Mapping[str, Any], memory_events: int, container_code: int
) -> tuple[int | None, EndedBy]:
    if killed_by is not None:
        return None, killed_by
    if not said:
        if memory_events:
            return None, EndedBy.MEMORY_LIMIT
        raise SandboxError(f"the container ended with {container_code} and didn't say how its command ended")
    status = said["status"]
    if status is None:
        return None, EndedBy.PROCESS_LIMIT
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if memory_events and number == signal.SIGKILL:
            return None, EndedBy.MEMORY_LIMIT
        return 128 + number, EndedBy.SIGNALLED
    code = os.WEXITSTATUS(status)
    return code, EndedBy.SIGNALLED if 128 < code <= 192 else EndedBy.EXITED  # noqa: PLR2004 - as the shell

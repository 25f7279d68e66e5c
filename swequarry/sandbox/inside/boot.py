"""The first process of a container: puts files in place, starts the command, reports how it went.

It reads one request from standard input: eight bytes with the length of a JSON text, the text, then the
content of the files that it names, one after the other. What follows is the command's own standard input.
Standard output is the report: a JSON line that says whether the request was understood, then what the
command writes to descriptor 3 (or the file that was asked for), then a line that begins with the request's
nonce and tells what the control group has counted. Being process 1 it can't be killed from inside, and
being undumpable its memory and descriptors can't be opened by the command, which has the same user.

Needs Python 3.6 or newer. Paths are base64, since they are bytes.
"""

# mypy: ignore-errors

import base64
import ctypes
import errno
import json
import os
import resource
import signal
import stat
import sys
import time

LINK_MODE = 0o120000
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 4, 22, 38, 2
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
EVENTS = {
    "memory": ("memory/memory.oom_control", "memory.events", "oom_kill"),
    "processes": ("pids/pids.events", "pids.events", "max"),
}
LOOK_S = 0.25
EXHAUSTED_S = 5.0


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """The request can't be done; the text says why."""


class Missing(Exception):  # noqa: N818
    """There is no regular file."""


def _read_exactly(size):
    parts = []
    while size:
        part = os.read(0, min(size, 1 << 20))
        if not part:
            raise Refused("the request was cut short")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _say(answer):
    _write_all(1, json.dumps(answer).encode("ascii") + b"\n")


def _write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]


# --- files, without following a link ---------------------------------------------------------------


def _open_parent(root, parts, create):
    """Open the folder that holds the last part; None when it isn't there."""
    here = os.open(root, FOLDER)
    for part in parts[:-1]:
        try:
            below = os.open(part, FOLDER, dir_fd=here)
        except FileNotFoundError:
            if not create:
                os.close(here)
                return None
            os.mkdir(part, 0o755, dir_fd=here)
            below = os.open(part, FOLDER, dir_fd=here)
        except OSError as error:
            os.close(here)
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            if not create and not _is_link(root, parts):
                return None
            raise Refused("%r goes through a link or a file" % b"/".join(parts)) from None
        os.close(here)
        here = below
    return here


def _is_link(root, parts):
    """Whether the first step that is no folder is a link."""
    path = os.fsencode(root)
    for part in parts:
        path = os.path.join(path, part)
        mode = os.lstat(path).st_mode
        if not stat.S_ISDIR(mode):
            return stat.S_ISLNK(mode)
    return False


def _mode_of(name, folder):
    try:
        return os.lstat(name, dir_fd=folder).st_mode
    except FileNotFoundError:
        return None


def _delete(name, folder):
    mode = _mode_of(name, folder)
    if mode is None:
        return
    if not stat.S_ISDIR(mode):
        os.unlink(name, dir_fd=folder)
        return
    if mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=folder)
    inner = os.open(name, FOLDER, dir_fd=folder)
    try:
        for entry in os.listdir(inner):
            _delete(os.fsencode(entry), inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=folder)


def _remove(root, parts):
    folder = _open_parent(root, parts, create=False)
    if folder is not None:
        _delete(parts[-1], folder)
        os.close(folder)


def _prune(root, parts):
    """Delete the folders above a removed path that it left empty."""
    parts = parts[:-1]
    while parts:
        folder = _open_parent(root, parts, create=False)
        if folder is not None:
            try:
                os.rmdir(parts[-1], dir_fd=folder)
            except FileNotFoundError:
                pass
            except OSError:
                return
            finally:
                os.close(folder)
        parts = parts[:-1]


def _write(root, parts, mode, data):
    folder = _open_parent(root, parts, create=True)
    name = parts[-1]
    try:
        there = _mode_of(name, folder)
        if there is not None and stat.S_ISDIR(there):
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError:
                raise Refused("%r is to be a file, but a folder is there" % b"/".join(parts)) from None
        elif there is not None:
            os.unlink(name, dir_fd=folder)
        if mode == LINK_MODE:
            os.symlink(data, name, dir_fd=folder)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            _write_all(target, data)
            os.fchmod(target, 0o755 if mode & 0o100 else 0o644)
        finally:
            os.close(target)
    finally:
        os.close(folder)


def _put(request):
    root = request["root"]
    removed = [base64.b64decode(path).split(b"/") for path in request["removed"]]
    for parts in removed:
        _remove(root, parts)
    for path, mode, size in request["files"]:
        _write(root, base64.b64decode(path).split(b"/"), mode, _read_exactly(size))
    for parts in removed:
        _prune(root, parts)


def _get(request):
    parts = base64.b64decode(request["path"]).split(b"/")
    folder = _open_parent(request["root"], parts, create=False)
    if folder is None:
        raise Missing
    mode = _mode_of(parts[-1], folder)
    if mode is None or not stat.S_ISREG(mode):
        raise Missing
    if not mode & 0o400:
        os.chmod(parts[-1], mode | 0o400, dir_fd=folder)
    source = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    if not mode & 0o400:
        os.fchmod(source, stat.S_IMODE(mode))
    size = os.fstat(source).st_size
    if size > request["limit"]:
        raise Refused("the file has %d bytes, too many to fetch" % size)
    _say({"ok": True, "size": size})
    while size > 0:
        part = os.read(source, min(size, 1 << 20))
        if not part:
            return
        size -= len(part)
        _write_all(1, part)


# --- the command ------------------------------------------------------------------------------------


def _control_file(old, new):
    for path in ("/sys/fs/cgroup/" + old, "/sys/fs/cgroup/" + new):
        try:
            with open(path, encoding="ascii") as handle:
                return handle.read()
        except OSError:
            continue
    return ""


def _count(kind):
    old, new, name = EVENTS[kind]
    for line in _control_file(old, new).splitlines():
        if line.split()[0] == name:
            return int(line.split()[1])
    return 0


def _is_exhausted():
    """Whether no further process can be started."""
    try:
        current = int(_control_file("pids/pids.current", "pids.current"))
        return current >= int(_control_file("pids/pids.max", "pids.max"))
    except ValueError:
        return False


def _bytes(text):
    """Return what the other side's text stands for, whatever this Python takes for the locale's encoding."""
    return text.encode("utf-8", "surrogateescape")


def _limit(kind, limit):
    hard = resource.getrlimit(kind)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (limit, limit))


def _prctl(option, value, address=0):
    """Call prctl(2); raise OSError where the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_ulong(word) for word in (option, value, address, 0, 0)]
    if libc.prctl(*words) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d is refused" % option)


class _Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h: the number of instructions of eight bytes, and where they are."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def _filter(request):
    """Refuse more system calls than the engine does, from here on, where we have a filter for the machine."""
    encoded = request["filters"].get(os.uname().machine)
    if encoded is not None:
        code = base64.b64decode(encoded)
        program = _Program(len(code) // 8, code)
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _become(request):
    """Replace this child by the command."""
    try:
        os.setsid()
        os.dup2(1, 3)
        os.dup2(2, 1)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python has ignored
            signal.signal(number, signal.SIG_DFL)
        for kind, limit in request["limits"].items():
            _limit(getattr(resource, "RLIMIT_" + kind), limit)
        variables = {_bytes(name): _bytes(value) for name, value in request["variables"].items()}
        os.execvpe(_bytes(request["argv"][0]), [_bytes(part) for part in request["argv"]], variables)  # noqa: S606
    except OSError as error:
        _write_all(2, b"%s: %s\n" % (_bytes(request["argv"][0]), os.strerror(error.errno).encode("ascii")))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _attend(child):
    """Bury whatever ends until the command does; return its wait status, None for a fork bomb."""
    since = None
    while True:
        signal.sigtimedwait([signal.SIGCHLD], LOOK_S)
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return status
            if pid == 0:
                break
        now = time.monotonic()
        since = (since or now) if _is_exhausted() else None
        if since is not None and now - since > EXHAUSTED_S:
            return None


def _run(request):
    os.chdir(_bytes(request["cwd"]))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    before = {kind: _count(kind) for kind in EVENTS}
    _filter(request)
    _say({"ok": True})
    child = os.fork()
    if child == 0:
        _become(request)
    os.close(0)
    status = _attend(child)
    events = {kind: _count(kind) - before[kind] for kind in EVENTS}
    end = {"status": status, "events": events}
    _write_all(1, ("\n%s %s\n" % (request["nonce"], json.dumps(end))).encode("ascii"))


def _main():
    _prctl(PR_SET_DUMPABLE, 0)
    request = json.loads(_read_exactly(int.from_bytes(_read_exactly(8), "big")).decode("ascii"))
    try:
        if request["op"] == "get":
            _get(request)
            return
        _put(request)
        if request["op"] == "run":
            _run(request)
        else:
            _say({"ok": True})
    except Missing:
        _say({"ok": False, "missing": True})
    except Refused as error:
        _say({"ok": False, "why": str(error)})
    except (OSError, RecursionError) as error:
        _say({"ok": False, "why": str(error)})


if __name__ == "__main__":
    sys.exit(_main())

"""Gives a command inside a sandbox a terminal of its own, and carries it over a unix socket.

Arguments: the socket, then the command; without one a shell. What comes in are frames of one byte for the
kind (`d` for typed bytes, `w` for rows and columns), four for the length, and the payload; what goes out is
what the terminal shows. Ends with the status of the command. Needs Python 3.6 or newer.
"""

# mypy: ignore-errors

import errno
import fcntl
import os
import pty
import select
import socket
import struct
import sys
import termios

CHUNK = 1 << 16
LOOK_S = 0.2
SHELLS = (("/bin/bash", "--noprofile", "--norc", "-i"), ("/bin/sh", "-i"))


def _start(argv):
    """Return pid and master side of a command on a new pseudo-terminal that controls its session."""
    pid, master = pty.fork()
    if pid:
        return pid, master
    os.closerange(3, 256)
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, ("%s: %s\r\n" % (argv[0], os.strerror(error.errno))).encode("utf-8", "replace"))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _frames(pending):
    """Take the whole frames off a buffer."""
    found = []
    while len(pending) >= 5:
        kind, length = struct.unpack_from(">cI", pending)
        if len(pending) < 5 + length:
            break
        found.append((kind, bytes(pending[5 : 5 + length])))
        del pending[: 5 + length]
    return found


def _obey(master, kind, payload):
    if kind == b"w":
        rows, columns = struct.unpack(">HH", payload)
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    while kind == b"d" and payload:
        payload = payload[os.write(master, payload) :]


def _shown(master):
    """Return what the terminal shows next, nothing when nobody has it open any more."""
    try:
        return os.read(master, CHUNK)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""


def _carry(channel, master, pid):
    """Carry both ways until the command has ended or nobody listens; return its wait status or None."""
    pending, status = bytearray(), None
    while True:
        ready, _, _ = select.select([channel, master], [], [], 0 if status is not None else LOOK_S)
        if channel in ready:
            data = channel.recv(CHUNK)
            if not data:
                return status
            pending += data
            for kind, payload in _frames(pending):
                _obey(master, kind, payload)
        if master in ready:
            shown = _shown(master)
            if not shown:
                return os.waitpid(pid, 0)[1] if status is None else status
            channel.sendall(shown)
        elif status is not None:
            return status
        if status is None:
            ended, found = os.waitpid(pid, os.WNOHANG)
            status = found if ended else None


def _main(path, argv):
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(path)
    shells = [list(shell) for shell in SHELLS if os.access(shell[0], os.X_OK)]
    pid, master = _start(argv or shells[0])
    status = _carry(channel, master, pid)
    if status is None:
        return 129
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], sys.argv[2:]))

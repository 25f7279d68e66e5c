"""Note what some test files do beside calling the code under test: files, sources, processes, the network.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

What is looked at are calls that a watched test file is behind, also through helpers and libraries; what the
framework and fixtures of others do isn't. What happens while Python imports a module is the import's affair.
Interpreters before 3.8 have no audit hook: there the doors that tests use are wrapped, which sees less.
What is found goes out as one marked line of output, as the tracer's notes do.
"""
# ruff: noqa: ARG005, D102, D103, RUF005, SLF001

import base64
import builtins
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zlib

PROCESSES = frozenset(
    ["os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"]
    + ["subprocess.Popen"]
)
LOOKUPS = frozenset(["socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"])
CHANGES = frozenset(
    ["os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink", "os.truncate"]
    + ["os.chmod", "os.chown"]
)
SECRETS = (".py", ".pyc", ".pyi", ".patch", ".diff", ".rej", ".orig")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FREE = ("/tmp", "/var/tmp", "/dev/shm", "/dev/null", "/dev/tty", "/proc/self/fd")  # noqa: S108 (what they are)
IMPORTING = ("<frozen importlib", "importlib/_bootstrap")
TELLING = ("/traceback.py", "/warnings.py", "/logging/__init__.py")
MOST = 200


class Noted:
    """What was seen, each thing once."""

    def __init__(self, targets, root):
        self.root = os.path.realpath(root)
        self.targets = frozenset(os.path.join(self.root, path) for path in targets)
        self.seen = []
        self.busy = False
        self.home = os.path.realpath(os.environ.get("TMPDIR", "/tmp"))  # noqa: S108 (what it is by default)

    def note(self, kind, what):
        entry = [kind, str(what)[:200]]
        if entry not in self.seen and len(self.seen) < MOST:
            self.seen.append(entry)

    def hear(self, event, args):
        if self.busy:
            return
        self.busy = True
        try:
            self.judge(event, args)
        except BaseException:  # what can't be judged isn't taken for harmless
            self.note("process", "%s, which can't be read" % event)
        finally:
            self.busy = False

    def judge(self, event, args):
        if event == "open":
            self.opened(args)
        elif event in CHANGES:
            self.changed(args)
        elif event in PROCESSES:
            if self.asked():
                self.note("process", event)
        elif event in LOOKUPS or (event == "socket.connect" and not isinstance(args[-1], (str, bytes))):
            if self.asked():
                self.note("network", "%s %s" % (event, args[-1] if event == "socket.connect" else args[0]))
        elif event == "sqlite3.connect":
            name = os.fsdecode(args[0])
            if ":memory:" not in name and name and not self.free(self.real(name)) and self.asked():
                self.note("touches_files", self.real(name))

    def opened(self, args):
        name, mode = args[0], args[1] if len(args) > 1 else "r"
        flags = args[2] if len(args) > 2 and isinstance(args[2], int) else 0
        if isinstance(name, int):
            return
        path = self.real(name)
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & WRITING)
        if writes:
            if not self.free(path) and self.asked():
                self.note("touches_files", path)
        elif self.secret(path):
            frames = self.behind()
            if frames is not None and not any(told(name) for name in frames):
                self.note("reads_source", path)

    def changed(self, args):
        for name in args[:2]:
            if isinstance(name, (str, bytes)) and not self.free(self.real(name)) and self.asked():
                self.note("touches_files", self.real(name))

    def left(self, since):
        """Note the files of the checkout that came or changed while tests ran, however that was done."""
        for folder, names, files in os.walk(self.root):
            names[:] = [name for name in names if name not in (".git", "__pycache__", ".pytest_cache")]
            for name in files:
                path = os.path.join(folder, name)
                try:
                    changed = os.lstat(path).st_ctime
                except OSError:
                    continue
                if changed > since and path not in self.targets:
                    self.note("touches_files", path)

    def secret(self, path):
        inside = path.startswith(self.root + os.sep)
        return inside and path not in self.targets and (path.endswith(SECRETS) or "/.git/" in path)

    def free(self, path):
        if path.startswith(self.root + os.sep):
            return False
        return path.startswith(FREE) or path.startswith(self.home + os.sep)

    @staticmethod
    def real(name):
        return os.path.realpath(os.path.abspath(os.fsdecode(name)))

    def asked(self):
        return self.behind() is not None

    def behind(self):
        """Return the files of the frames down to a watched file's; None where none is behind a call.

        Work that a thread of a test does has no frame of the framework behind it, and counts as the test's.
        """
        frame, names = sys._getframe(), []
        while frame is not None:
            name = frame.f_code.co_filename
            if any(mark in name for mark in IMPORTING):
                return None
            if name in self.targets or os.path.join(self.root, name) in self.targets:
                return names
            names.append(name)
            frame = frame.f_back
        alone = threading.current_thread() is not threading.main_thread()
        return names if alone else None


def told(name):
    return name.endswith(TELLING)


def wrapped(noted, event, function, order):
    def door(*args, **named):
        noted.hear(event, order(args, named))
        return function(*args, **named)

    return door


def wrap_doors(noted):
    """Wrap what tests open files, connections and processes by, under a Python without audit hooks."""

    def of_open(args, named):
        return (args[0] if args else named.get("file"), args[1] if len(args) > 1 else named.get("mode", "r"))

    builtins.open = io.open = wrapped(noted, "open", io.open, of_open)
    os.open = wrapped(
        noted, "open", os.open, lambda args, named: (args[0], None, args[1] if len(args) > 1 else 0)
    )
    os.system = wrapped(noted, "os.system", os.system, lambda args, named: args)
    for name in ("mkdir", "remove", "rmdir", "rename"):
        setattr(os, name, wrapped(noted, "os." + name, getattr(os, name), lambda args, named: args))
    socket.getaddrinfo = wrapped(noted, "socket.getaddrinfo", socket.getaddrinfo, lambda args, named: args)
    start = subprocess.Popen.__init__
    subprocess.Popen.__init__ = wrapped(noted, "subprocess.Popen", start, lambda args, named: args[1:])


def watching(settings, adapter):
    """Return an adapter that notes what the files of `settings["targets"]` do."""

    def run_watching(session, files):
        noted, out, end = Noted(settings["targets"], session.testbed), os.dup(1), session.end
        begin, began = session.begin, []

        def tell_begin(test):
            if not began:
                began.append(time.time())
            begin(test)

        def tell_end(status):
            noted.busy = True
            if began:
                noted.left(began[0])
            told_ = json.dumps({"seen": noted.seen, "audited": hasattr(sys, "addaudithook")})
            packed = base64.b64encode(zlib.compress(told_.encode("ascii", "backslashreplace")))
            data = b"\n" + settings["mark"].encode("ascii") + packed + b"\n"
            while data:
                data = data[os.write(out, data) :]
            end(status)

        session.begin, session.end = tell_begin, tell_end
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(noted.hear)
        else:
            wrap_doors(noted)
        return adapter(session, files)

    return run_watching

"""What every adapter of a test framework reports through: the channel, and the session that speaks on it.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

The channel is a pipe that only this process writes to. Each record is one line of ASCII JSON. First
`start` with the nonce of the run, last `end` with the nonce and the exit status; between them `collecting`,
`collect_error`, `collect_skip`, `collected`, `origins`, `begin`, `phase` and `subtest`. The watchdog's
`timeout` replaces the end. `swequarry.verify.report` is the reader.

An adapter is a function of a session and the files to run that returns an exit status; it's given to `run`.
"""
# ruff: noqa: D102, D103, FURB188, S112  (3.6 lacks removesuffix)

import errno
import fcntl
import json
import os
import random
import socket
import sys
import traceback
import zlib

UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
CHANNEL_LOST = 97
"""Exit status when a test closed or replaced the channel: the test counts as crashed."""
TEXT_LIMIT = 400
IDS_PER_RECORD = 500
BROKEN, NO_TESTS = 3, 5
"""Exit statuses of a run that broke and of one without tests, as pytest has them."""


class Channel:
    """The report pipe, out of the way of tests: a high descriptor, closed in children that exec.

    The functions it needs are bound at the start, because tests replace `os.getpid`, `os.write` and the like.
    The phases of a test go out together at its end: what a test that never ends did so far doesn't matter.
    """

    def __init__(self, fd):
        try:
            self.fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 800)
        except (OSError, ValueError):  # fewer descriptors allowed than that
            self.fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
        os.close(fd)
        self._write, self._fstat, self._getpid, self._exit = os.write, os.fstat, os.getpid, os._exit
        self._encode = json.JSONEncoder(separators=(",", ":")).encode
        self._owner = os.getpid()
        self._kept = ""
        self._identity = self._state()

    def _state(self):
        status = self._fstat(self.fd)
        return status.st_dev, status.st_ino

    def keep(self, kind, **fields):
        """Keep one record until the next is sent."""
        fields["kind"] = kind
        self._kept += self._encode(fields) + "\n"

    def send(self, kind, **fields):
        """Write what was kept and one record, whole, or end the process: it must report or be silent."""
        if self._getpid() != self._owner:
            return  # a forked child of a test came back through the hooks
        self.keep(kind, **fields)
        data, self._kept = self._kept.encode("ascii"), ""
        try:
            if self._state() != self._identity:
                self._exit(CHANNEL_LOST)
            while data:
                data = data[self._write(self.fd, data) :]
        except OSError:
            self._exit(CHANNEL_LOST)


class Session:
    """One process of a test run, as an adapter sees it: what to leave out, and whom to tell what."""

    def __init__(self, config, channel, tell):
        self.channel = channel
        self.tell = tell
        self.skip = frozenset(config["skip"])
        self.options = config["options"]
        self.nonce = config["nonce"]
        self.testbed = os.path.realpath(os.getcwd())
        self._watch = config["watch"]
        self._seed = config["seed"]
        self._number = 1

    @property
    def seed(self):
        return self._seed

    def collected(self, ids):
        """Say which tests there are, and from where the watched modules came by now."""
        for start in range(0, len(ids), IDS_PER_RECORD):
            self.channel.send("collected", ids=ids[start : start + IDS_PER_RECORD])
        self.channel.send("origins", modules=self._origins())

    def begin(self, test):
        """Say that a test begins; its time is counted from here, and its randomness is seeded."""
        self._number += 2
        self.channel.send("begin", id=test, number=self._number)
        self.tell(self._number)
        seed = zlib.crc32(("%d %s" % (self._seed, test)).encode("utf-8", "replace"))
        random.seed(seed)
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None:
            try:
                numpy_random.seed(seed)
            except Exception:
                return

    def phase(self, test, when, outcome, xfail=False, detail="", error=""):  # noqa: FBT002
        """Say how a phase of the running test ended; it goes out with the last one, `teardown`."""
        last = when == "teardown"
        write = self.channel.send if last else self.channel.keep
        write("phase", id=test, when=when, outcome=outcome, xfail=xfail, detail=detail, error=error)
        if last:
            self.tell(self._number + 1)

    def end(self, status):
        """Say that the run is over, and end the process.

        Python's shutdown is left out: a thread that doesn't end or an extension that crashes while
        being unloaded says nothing about a test.
        """
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:
                continue
        self.channel.send("end", nonce=self.nonce, status=status)
        os._exit(status)

    def _origins(self):
        """Return (name, file, inside the checkout) of the watched modules that are loaded."""
        found = []
        for path in self._watch:
            name, relative = self.import_name(os.path.join(self.testbed, path))
            module = sys.modules.get(name)
            origin = getattr(module, "__file__", None)
            if isinstance(origin, str) and source_file(origin).endswith("/" + relative):
                real = os.path.realpath(origin)
                found.append([name, real, real.startswith(self.testbed + os.sep)])
        return found

    @staticmethod
    def import_name(path):
        """Return the import name of a file and its path below the folder that must be on sys.path."""
        folder, relative = os.path.dirname(path), os.path.basename(path)
        while os.path.isfile(os.path.join(folder, "__init__.py")):
            folder, above = os.path.split(folder)
            relative = above + "/" + relative
        name = relative[: -len(".py")].replace("/", ".")
        return (name[: -len(".__init__")] if name.endswith(".__init__") else name), relative

    @staticmethod
    def plain(value):
        """Return a value as text, whatever its class does."""
        try:
            return str(value)
        except Exception:
            return "<%s that can't be printed>" % type(value).__name__

    def text(self, value):
        """Return a value as text that isn't too long for a record."""
        value = self.plain(value)
        return value if len(value) <= TEXT_LIMIT else value[: TEXT_LIMIT - 4] + " ..."

    def describe(self, error):
        """Return the class of an exception and, where the network is behind it, a note about that."""
        seen, link = [], error
        while link is not None and len(seen) < 20 and not any(link is other for other in seen):
            seen.append(link)
            link = getattr(link, "__cause__", None) or getattr(link, "__context__", None)
        for link in seen:
            if isinstance(link, socket.gaierror) or (isinstance(link, OSError) and link.errno in UNREACHABLE):
                cause = " (network: %s: %s)" % (self._class_name(link), self.plain(link))
                return self._class_name(error), cause
        return self._class_name(error), ""

    def _class_name(self, error):
        return self.text(type(error).__module__ + "." + type(error).__name__)


def source_file(origin):
    return origin[:-1] if origin.endswith((".pyc", ".pyo")) else origin


def run(config, start_watchdog, adapter):
    """Run the tests that `config` names with an adapter; never returns."""
    channel = Channel(config["report_fd"])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    session = Session(config, channel, start_watchdog(channel.fd, config["test_timeout_s"]))
    present = [path for path in config["targets"] if os.path.exists(path)]
    absent = [path for path in config["targets"] if not os.path.exists(path)]
    channel.send("start", nonce=config["nonce"], python=sys.version.split()[0], absent=absent)
    sys.path[0] = os.getcwd()
    random.seed(config["seed"])
    try:
        status = adapter(session, present) if present else NO_TESTS
    except BaseException:
        traceback.print_exc()
        status = BROKEN
    session.end(status)

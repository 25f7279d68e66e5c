"""Run pytest and write what every test did to the report channel, as it happens.

Runs inside the sandbox under Python 3.6 and later and pytest 3.0 and later; see the package's docstring.
PYTEST_DONT_REWRITE

The channel is a pipe that only this process writes to. Each record is one line of ASCII JSON. First
`start` with the nonce of the run, last `end` with the nonce and the exit status; between them `collecting`,
`collect_error`, `collect_skip`, `collected`, `origins`, `begin`, `phase` and `subtest`. The watchdog's
`timeout` replaces the end. `swequarry.verify.report` is the reader.

The plugin is an object given to `pytest.main`: nothing lies on sys.path, in site-packages or in the
environment, so child processes and nested pytest runs of the tests don't see it.
"""
# ruff: noqa: ARG002, D101, D102, D103, FURB188, PLC0415, S112  (pytest names the arguments; 3.6 lacks removeprefix)

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
FORCED = ["-p", "no:cacheprovider", "--continue-on-collection-errors", "--tb=short", "--color=no"]


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


class Recorder:
    def __init__(self, config, channel, tell_watchdog, filter_arguments):
        self.channel = channel
        self.tell = tell_watchdog
        self.filter = filter_arguments
        self.skip = frozenset(config["skip"])
        self.watch = config["watch"]
        self.seed = config["seed"]
        self.prefix = ""
        self.errors = {}
        self.gathered = False
        self.number = 1
        self.testbed = os.path.realpath(os.getcwd())

    # --- before the tests ---------------------------------------------------------------------------

    def pytest_cmdline_parse(self, pluginmanager, args):
        """Filter `addopts` where pytest asks for them: before it loads the plugins that they name."""
        config = pluginmanager.getplugin("pytestconfig")
        getini = config.getini

        def filtered(name, *more, **named):
            value = getini(name, *more, **named)
            if name != "addopts" or not value:
                return value
            kept = self.filter([str(word) for word in value])
            self.channel.send("addopts", found=[str(word) for word in value], kept=kept)
            return kept

        config.getini = filtered

    def pytest_load_initial_conftests(self, early_config, parser, args):
        if early_config.pluginmanager.hasplugin("randomly"):
            args[:0] = ["--randomly-seed=%d" % self.seed, "--randomly-dont-reorganize"]

    def pytest_addoption(self, parser):
        """Know the setting of the plugin that is switched off, or --strict-config refuses the project's."""
        try:
            parser.addini("cache_dir", "not used: the cache is switched off", default="")
        except ValueError:  # somebody else has it
            pass

    def pytest_configure(self, config):
        root = os.path.realpath(str(getattr(config, "rootpath", None) or config.rootdir))
        prefix = os.path.relpath(root, self.testbed)
        self.prefix = "" if prefix == "." else prefix + "/"

    def name(self, nodeid):
        """Return the id of a node relative to the checkout, as pytest takes it on its command line.

        pytest before 4.0 writes `Class::()::test`; the middle part never was of use and isn't printed.
        """
        place, bracket, parameters = str(nodeid).partition("[")
        return self.prefix + place.replace("::()", "") + bracket + parameters

    def pytest_collectstart(self, collector):
        path = self.name(collector.nodeid).split("::")[0]
        if path.endswith(".py"):
            self.channel.send("collecting", path=path)

    def pytest_collectreport(self, report):
        if report.outcome == "failed":
            path = self.name(report.nodeid)
            self.channel.send("collect_error", path=path, detail=last_line(report.longrepr))
        elif report.outcome == "skipped":
            path = self.name(report.nodeid)
            self.channel.send("collect_skip", path=path, detail=skip_reason(report.longrepr))
        if ".py" in self.name(report.nodeid):
            self.channel.send("collecting", path="")

    def pytest_collection_modifyitems(self, session, config, items):
        self.gathered = True
        if self.skip:
            left_out = [item for item in items if self.name(item.nodeid) in self.skip]
            items[:] = [item for item in items if self.name(item.nodeid) not in self.skip]
            if left_out:
                config.hook.pytest_deselected(items=left_out)

    def pytest_collection_finish(self, session):
        if not self.gathered:
            return  # called on the way out of a collection that broke
        ids = [self.name(item.nodeid) for item in session.items]
        for start in range(0, len(ids), IDS_PER_RECORD):
            self.channel.send("collected", ids=ids[start : start + IDS_PER_RECORD])
        self.channel.send("origins", modules=self._origins())

    def _origins(self):
        """Return (name, file, inside the checkout) of the watched modules that are loaded."""
        found = []
        for path in self.watch:
            name, relative = dotted_name(os.path.join(self.testbed, path))
            module = sys.modules.get(name)
            origin = getattr(module, "__file__", None)
            if isinstance(origin, str) and module_file(origin).endswith("/" + relative):
                real = os.path.realpath(origin)
                found.append([name, real, real.startswith(self.testbed + os.sep)])
        return found

    # --- the tests ----------------------------------------------------------------------------------

    def pytest_runtest_logstart(self, nodeid):
        name = self.name(nodeid)
        self.number += 2
        self.channel.send("begin", id=name, number=self.number)
        self.tell(self.number)
        seed = zlib.crc32(("%d %s" % (self.seed, name)).encode("utf-8", "replace"))
        random.seed(seed)
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None:
            try:
                numpy_random.seed(seed)
            except Exception:
                self.errors.clear()

    def pytest_runtest_makereport(self, item, call):
        """Note what the report won't hold: the class of the exception and a network error behind it."""
        if call.excinfo is not None:
            self.errors[(str(item.nodeid), call.when)] = describe(call.excinfo.value)

    def pytest_runtest_logreport(self, report):
        name = self.name(report.nodeid)
        error, cause = self.errors.pop((str(report.nodeid), report.when), ("", ""))
        detail = phase_detail(report, cause)
        if hasattr(report, "context") and "subtest" in type(report).__name__.lower():
            self.channel.keep("subtest", id=name, outcome=str(report.outcome), detail=detail)
            return
        if report.outcome == "rerun":
            self.channel.keep("rerun", id=name, detail=text(crash_line(report.longrepr)))
            return
        last = report.when == "teardown"
        write = self.channel.send if last else self.channel.keep
        write(
            "phase",
            id=name,
            when=str(report.when),
            outcome=str(report.outcome),
            xfail=hasattr(report, "wasxfail"),
            detail=detail,
            error=error,
        )
        if last:
            self.tell(self.number + 1)


def phase_detail(report, cause):
    """Return the line that tells best how a phase ended."""
    if report.outcome == "passed":
        return ""
    if report.outcome == "skipped":
        return text(getattr(report, "wasxfail", "")) or skip_reason(report.longrepr)
    return text(crash_line(report.longrepr) + cause)


def crash_line(longrepr):
    crash = getattr(longrepr, "reprcrash", None)
    lines = plain(getattr(crash, "message", "")).strip().splitlines()
    return lines[0] if lines else last_line(longrepr)


def skip_reason(longrepr):
    reason = plain(longrepr[-1]) if isinstance(longrepr, tuple) and longrepr else last_line(longrepr)
    return text(reason[len("Skipped: ") :] if reason.startswith("Skipped: ") else reason)


def last_line(longrepr):
    lines = [line for line in plain(longrepr).splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return text(last[1:].strip() if last.startswith("E ") else last.strip())


def plain(value):
    try:
        return str(value)
    except Exception:
        return "<%s that can't be printed>" % type(value).__name__


def text(value):
    value = plain(value)
    return value if len(value) <= TEXT_LIMIT else value[: TEXT_LIMIT - 4] + " ..."


def describe(error):
    """Return the class of an exception and, where the network is behind it, a note about that."""
    seen, link = [], error
    while link is not None and len(seen) < 20 and not any(link is other for other in seen):
        seen.append(link)
        link = getattr(link, "__cause__", None) or getattr(link, "__context__", None)
    for link in seen:
        if isinstance(link, socket.gaierror) or (isinstance(link, OSError) and link.errno in UNREACHABLE):
            return class_name(error), " (network: %s: %s)" % (class_name(link), plain(link))
    return class_name(error), ""


def class_name(error):
    return text(type(error).__module__ + "." + type(error).__name__)


def dotted_name(path):
    """Return the import name of a file and its path below the folder that must be on sys.path."""
    folder, relative = os.path.dirname(path), os.path.basename(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, above = os.path.split(folder)
        relative = above + "/" + relative
    name = relative[: -len(".py")].replace("/", ".")
    return (name[: -len(".__init__")] if name.endswith(".__init__") else name), relative


def module_file(origin):
    return origin[:-1] if origin.endswith((".pyc", ".pyo")) else origin


def run_pytest(recorder, arguments, options):
    """Run pytest as `python -m pytest` does; return its exit status."""
    try:
        import pytest
    except BaseException:
        traceback.print_exc()
        recorder.channel.send("broken", detail=text("pytest can't be imported: " + plain(sys.exc_info()[1])))
        return 4
    hooks = (("pytest_cmdline_parse", "tryfirst"), ("pytest_load_initial_conftests", "tryfirst"))
    hooks += (("pytest_runtest_makereport", "tryfirst"), ("pytest_collection_modifyitems", "trylast"))
    hooks += (("pytest_addoption", "trylast"), ("pytest_runtest_logreport", "trylast"))
    for name, order in hooks:
        function = getattr(Recorder, name)
        setattr(Recorder, name, pytest.hookimpl(**{order: True})(function))
    words = recorder.filter(options) + FORCED + arguments
    sys.argv = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py")] + words  # noqa: RUF005
    try:
        status = pytest.main(list(words), plugins=[recorder])
    except SystemExit as stop:
        status = 0 if stop.code is None else stop.code
    except BaseException:
        traceback.print_exc()
        status = 3
    return status & 0xFF if isinstance(status, int) else 1


def run(config, filter_arguments, start_watchdog):
    """Run the tests that `config` names; never returns.

    The process ends without Python's shutdown: a thread that doesn't end or an extension that
    crashes while being unloaded says nothing about a test.
    """
    channel = Channel(config["report_fd"])
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    tell = start_watchdog(channel.fd, config["test_timeout_s"])
    present = [path for path in config["targets"] if os.path.exists(path)]
    absent = [path for path in config["targets"] if not os.path.exists(path)]
    channel.send("start", nonce=config["nonce"], python=sys.version.split()[0], absent=absent)
    sys.path[0] = os.getcwd()
    random.seed(config["seed"])
    recorder = Recorder(config, channel, tell, filter_arguments)
    status = run_pytest(recorder, present, config["options"]) if present else 5
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:
            continue
    channel.send("end", nonce=config["nonce"], status=status)
    os._exit(status)

"""Run pytest and tell the session what every test did, as it happens.

Runs inside the sandbox under Python 3.6 and later and pytest 3.0 and later; see the package's docstring.
PYTEST_DONT_REWRITE

The plugin is an object given to `pytest.main`: nothing lies on sys.path, in site-packages or in the
environment, so child processes and nested pytest runs of the tests don't see it.
"""
# ruff: noqa: ARG002, D101, D102, FURB188, PLC0415  (pytest names the arguments; 3.6 lacks removeprefix)

import os
import sys
import traceback

FORCED = ["-p", "no:cacheprovider", "--continue-on-collection-errors", "--tb=short", "--color=no"]


class Recorder:
    def __init__(self, session, filter_arguments):
        self.session = session
        self.filter = filter_arguments
        self.prefix = ""
        self.errors = {}
        self.gathered = False

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
            self.session.channel.send("addopts", found=[str(word) for word in value], kept=kept)
            return kept

        config.getini = filtered

    def pytest_load_initial_conftests(self, early_config, parser, args):
        if early_config.pluginmanager.hasplugin("randomly"):
            args[:0] = ["--randomly-seed=%d" % self.session.seed, "--randomly-dont-reorganize"]

    def pytest_addoption(self, parser):
        """Know the setting of the plugin that is switched off, or --strict-config refuses the project's."""
        try:
            parser.addini("cache_dir", "not used: the cache is switched off", default="")
        except ValueError:  # somebody else has it
            pass

    def pytest_configure(self, config):
        root = os.path.realpath(str(getattr(config, "rootpath", None) or config.rootdir))
        prefix = os.path.relpath(root, self.session.testbed)
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
            self.session.channel.send("collecting", path=path)

    def pytest_collectreport(self, report):
        if report.outcome == "failed":
            path = self.name(report.nodeid)
            self.session.channel.send("collect_error", path=path, detail=self.last_line(report.longrepr))
        elif report.outcome == "skipped":
            path = self.name(report.nodeid)
            self.session.channel.send("collect_skip", path=path, detail=self.skip_reason(report.longrepr))
        if ".py" in self.name(report.nodeid):
            self.session.channel.send("collecting", path="")

    def pytest_collection_modifyitems(self, session, config, items):
        self.gathered = True
        if self.session.skip:
            left_out = [item for item in items if self.name(item.nodeid) in self.session.skip]
            items[:] = [item for item in items if self.name(item.nodeid) not in self.session.skip]
            if left_out:
                config.hook.pytest_deselected(items=left_out)

    def pytest_collection_finish(self, session):
        if not self.gathered:
            return  # called on the way out of a collection that broke
        self.session.collected([self.name(item.nodeid) for item in session.items])

    # --- the tests ----------------------------------------------------------------------------------

    def pytest_runtest_logstart(self, nodeid):
        self.session.begin(self.name(nodeid))

    def pytest_runtest_makereport(self, item, call):
        """Note what the report won't hold: the class of the exception and a network error behind it."""
        if call.excinfo is not None:
            self.errors[(str(item.nodeid), call.when)] = self.session.describe(call.excinfo.value)

    def pytest_runtest_logreport(self, report):
        name = self.name(report.nodeid)
        error, cause = self.errors.pop((str(report.nodeid), report.when), ("", ""))
        detail = self.detail(report, cause)
        if hasattr(report, "context") and "subtest" in type(report).__name__.lower():
            self.session.channel.keep("subtest", id=name, outcome=str(report.outcome), detail=detail)
            return
        if report.outcome == "rerun":
            self.session.channel.keep(
                "rerun", id=name, detail=self.session.text(self.crash_line(report.longrepr))
            )
            return
        self.session.phase(
            name, str(report.when), str(report.outcome), hasattr(report, "wasxfail"), detail, error
        )

    # --- what a report says, in one line --------------------------------------------------------------

    def detail(self, report, cause):
        """Return the line that tells best how a phase ended."""
        if report.outcome == "passed":
            return ""
        if report.outcome == "skipped":
            why = self.session.text(getattr(report, "wasxfail", ""))
            return why or self.skip_reason(report.longrepr)
        return self.session.text(self.crash_line(report.longrepr) + cause)

    def crash_line(self, longrepr):
        crash = getattr(longrepr, "reprcrash", None)
        lines = self.session.plain(getattr(crash, "message", "")).strip().splitlines()
        return lines[0] if lines else self.last_line(longrepr)

    def skip_reason(self, longrepr):
        told = isinstance(longrepr, tuple) and longrepr
        reason = self.session.plain(longrepr[-1]) if told else self.last_line(longrepr)
        return self.session.text(reason[len("Skipped: ") :] if reason.startswith("Skipped: ") else reason)

    def last_line(self, longrepr):
        lines = [line for line in self.session.plain(longrepr).splitlines() if line.strip()]
        last = lines[-1] if lines else ""
        return self.session.text(last[1:].strip() if last.startswith("E ") else last.strip())


def run_pytest(session, arguments, filter_arguments):
    """Run pytest as `python -m pytest` does; return its exit status."""
    try:
        import pytest
    except BaseException:
        traceback.print_exc()
        reason = "pytest can't be imported: " + session.plain(sys.exc_info()[1])
        session.channel.send("broken", detail=session.text(reason))
        return 4
    hooks = (("pytest_cmdline_parse", "tryfirst"), ("pytest_load_initial_conftests", "tryfirst"))
    hooks += (("pytest_runtest_makereport", "tryfirst"), ("pytest_collection_modifyitems", "trylast"))
    hooks += (("pytest_addoption", "trylast"), ("pytest_runtest_logreport", "trylast"))
    for name, order in hooks:
        function = getattr(Recorder, name)
        setattr(Recorder, name, pytest.hookimpl(**{order: True})(function))
    words = filter_arguments(session.options) + FORCED + arguments
    sys.argv = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py")] + words  # noqa: RUF005
    try:
        status = pytest.main(list(words), plugins=[Recorder(session, filter_arguments)])
    except SystemExit as stop:
        status = 0 if stop.code is None else stop.code
    except BaseException:
        traceback.print_exc()
        status = 3
    return status & 0xFF if isinstance(status, int) else 1

"""Run files with unittest and tell the session what every test did, as it happens.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

An id is `test_method (dotted.module.Class)`: what Python up to 3.10 prints for a test, and what published
datasets of such suites hold. Later Pythons print the method twice, and a test with a docstring is shown by
its first line; neither is an id.

`Recording` takes over the first run of unittest's text runner in the process, whoever starts it. What
happens between tests belongs to one of them, as it does in pytest: setting a class or module up to its
next test, tearing it down to its last. A set-up that fails or skips gives that outcome to each of its tests.
"""
# ruff: noqa: D102, D103, N802, SLF001  (unittest names the methods; its fixtures are private to it)

import importlib
import os
import sys
import traceback
import unittest
from unittest.util import strclass

FAILED_LOAD = "_FailedTest"
"""The class that unittest puts where a module's test would be if it could be loaded."""


def test_id(test):
    """Return the id of a test; what isn't a method of a TestCase says its dotted name itself."""
    if getattr(getattr(test, "id", None), "__func__", None) is unittest.TestCase.id:
        return "%s (%s)" % (test._testMethodName, strclass(type(test)))
    place, bracket, arguments = str(test.id()).partition("(")
    prefix, dot, name = place.rpartition(".")
    return name + bracket + arguments + (" (%s)" % prefix if dot else "")


class NotLoaded(unittest.TestCase):
    """Stands where the tests of a file would be; it is never run."""

    def runTest(self):
        raise AssertionError


class Noted:
    """The half of a result class that notes; the other half is the runner's own."""

    recording = None

    def startTest(self, test):
        self.recording.begin(test)
        super().startTest(test)

    def addSuccess(self, test):
        self.recording.note(test, "passed")
        super().addSuccess(test)

    def addError(self, test, err):
        self.recording.note(test, "failed", error=err[1])
        super().addError(test, err)

    def addFailure(self, test, err):
        self.recording.note(test, "failed", error=err[1])
        super().addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.recording.note(test, "failed", error=err[1])
        super().addSubTest(test, subtest, err)

    def addSkip(self, test, reason):
        part = isinstance(test, unittest.case._SubTest)
        self.recording.note(test.test_case if part else test, "skipped", detail=reason)
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        self.recording.note(test, "skipped", error=err[1], xfail=True)
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.recording.note(test, "passed", xfail=True)
        super().addUnexpectedSuccess(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.recording.stop(test)


class Recording:
    """What becomes of the tests of one run.

    `places` maps the names under which files may be loaded to their paths. The suite is cut down to the tests
    that were loaded by these names or are defined in these files.
    """

    def __init__(self, session, places):
        self.session = session
        self.places = places
        self.loaded = {}
        self.failed_loads = False
        self.waiting = {}
        self.running = None
        self.name = ""
        self.outcome = None
        self.stopped = False
        self.next_test = None
        self.replaced = []

    # --- loading --------------------------------------------------------------------------------------

    def install(self):
        """Take over the runner and the loader."""
        recording = self
        load = unittest.TestLoader.loadTestsFromName

        def loaded(loader, name, module=None):
            return recording.load(name, lambda: load(loader, name, module))

        def started(runner, suite):
            recording.run(runner, suite)

        self.replace(unittest.TestLoader, "loadTestsFromName", loaded)
        self.replace(unittest.TextTestRunner, "run", started)

    def replace(self, owner, name, function):
        self.replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, function)

    def restore(self):
        while self.replaced:
            setattr(*self.replaced.pop())

    def load(self, name, make):
        """Return what `make` loads for a name; a file that can't be loaded doesn't stop the others."""
        path = self.places.get(name)
        if path is None:
            return make()
        self.session.channel.send("collecting", path=path)
        try:
            suite = make()
        except unittest.SkipTest as reason:
            self.session.channel.send("collect_skip", path=path, detail=self.session.text(reason))
            suite = unittest.TestSuite([NotLoaded()])
        except Exception as error:
            traceback.print_exc()
            self.load_failed(path, self.one_line(error))
            suite = unittest.TestSuite([NotLoaded()])
        self.loaded.update((id(test), test) for test in self.leaves(suite, lambda t: self.is_loaded(t, path)))
        self.session.channel.send("collecting", path="")
        return suite if suite.countTestCases() else unittest.TestSuite([NotLoaded()])

    def is_loaded(self, test, path):
        if isinstance(test, NotLoaded):
            return False
        if type(test).__name__ != FAILED_LOAD:
            return True
        lines = self.session.plain(getattr(test, "_exception", "")).strip().splitlines()
        detail = self.session.text(lines[-1] if lines else test.id())
        sys.stderr.write("\n".join([*lines, ""]))
        self.load_failed(path, detail)
        return False

    def load_failed(self, path, detail):
        self.failed_loads = True
        self.session.channel.send("collect_error", path=path, detail=detail)

    def leaves(self, suite, keep):
        """Return the tests of a suite in their order, after those that `keep` refuses were taken out."""
        found, remaining = [], []
        for test in list(suite):
            if isinstance(test, unittest.BaseTestSuite):
                found += self.leaves(test, keep)
                remaining.append(test)
            elif keep(test):
                found.append(test)
                remaining.append(test)
        if isinstance(getattr(suite, "_tests", None), list):
            suite._tests[:] = remaining
        return found

    def is_wanted(self, test):
        if not self.is_loaded(test, getattr(test, "_testMethodName", "")):
            return False
        if id(test) not in self.loaded:
            module = sys.modules.get(type(test).__module__)
            origin = os.path.realpath(getattr(module, "__file__", None) or os.devnull)
            if origin not in {os.path.realpath(path) for path in self.places.values()}:
                return False
        return test_id(test) not in self.session.skip

    # --- running --------------------------------------------------------------------------------------

    def run(self, runner, suite):
        """Run a suite in the runner's way, but quietly and to its end; never returns."""
        self.restore()
        tests = self.leaves(suite, self.is_wanted)
        self.waiting = {id(test): test for test in tests}
        self.session.collected([test_id(test) for test in tests])
        runner.failfast, runner.verbosity = False, 0
        own = runner.resultclass or unittest.TextTestResult
        runner.resultclass = type("Noted" + own.__name__, (Noted, own), {"recording": self})
        self.replace(unittest.TestSuite, "_handleClassSetUp", self.with_class_set_up())
        self.replace(unittest.TestSuite, "_handleModuleFixture", self.with_next_test())
        self.replace(unittest.TestSuite, "_handleModuleTearDown", self.with_module_set_up())
        result = runner.run(suite)
        self.flush()
        passed = result.wasSuccessful() and not self.failed_loads
        self.session.end((0 if passed else 1) if tests else 5)

    def with_class_set_up(self):
        original = unittest.TestSuite._handleClassSetUp

        def handle(suite, test, result):
            fresh = type(test) is not getattr(result, "_previousTestClass", None)
            if fresh and self.is_ours(result) and not getattr(result, "_moduleSetUpFailed", False):
                self.begin(test)
            return original(suite, test, result)

        return handle

    def with_next_test(self):
        original = unittest.TestSuite._handleModuleFixture

        def handle(suite, test, result):
            self.next_test = test
            try:
                return original(suite, test, result)
            finally:
                self.next_test = None

        return handle

    def with_module_set_up(self):
        original = unittest.TestSuite._handleModuleTearDown

        def handle(suite, result):
            original(suite, result)
            if self.next_test is not None and self.is_ours(result):
                self.begin(self.next_test)

        return handle

    def is_ours(self, result):
        return getattr(result, "recording", None) is self

    def begin(self, test):
        """Begin a test, unless what is set up for it began it already or it wasn't collected."""
        if test is self.running and not self.stopped:
            return
        self.flush()
        if self.waiting.pop(id(test), None) is None:
            return
        self.running, self.name = test, test_id(test)
        self.session.begin(self.name)

    def note(self, test, outcome, detail="", error=None, xfail=False):  # noqa: FBT002
        """Note how a test, or what is set up for several, came out; the first failure counts."""
        kind, cause = self.session.describe(error) if error is not None else ("", "")
        detail = self.session.text(detail or (self.one_line(error) + cause if error is not None else ""))
        told = {"outcome": outcome, "detail": detail, "error": kind, "xfail": xfail}
        if test is self.running and not self.stopped:
            if self.outcome is None or self.outcome["outcome"] != "failed":
                self.outcome = told
        elif not isinstance(test, unittest.TestCase) and hasattr(test, "description"):
            self.fixture(test.description, told)

    def fixture(self, description, told):
        """Give what came of `setUpClass (a.B)`, `setUpModule (a)` or a tear-down to the tests concerned."""
        what, _, place = description.partition(" (")
        if what.startswith("tearDown"):
            self.flush(told)
            return
        of_module = "Module" in what
        concerned = [self.running] if self.running is not None and not self.stopped else []
        concerned += self.waiting.values()
        for test in concerned:
            own = type(test).__module__ if of_module else strclass(type(test))
            if own == place.rstrip(")"):
                self.begin(test)
                self.session.phase(self.name, "setup", **told)
                self.close({"outcome": "passed"})

    def stop(self, test):
        """Keep what is known of a test; the tear-down of its class may still concern it."""
        if test is not self.running or self.stopped:
            return
        told = self.outcome or {"outcome": "failed", "detail": "no outcome was reported"}
        self.session.phase(self.name, "setup", "passed")
        self.session.phase(self.name, "call", **told)
        self.stopped = True

    def flush(self, told=None):
        """Send out the test that came to its end, if there is one."""
        if self.running is not None and self.stopped:
            self.close(told or {"outcome": "passed"})

    def close(self, told):
        self.session.phase(self.name, "teardown", **told)
        self.running, self.outcome, self.stopped = None, None, False

    def one_line(self, error):
        lines = traceback.format_exception_only(type(error), error)
        first = self.session.plain(error).strip().splitlines()[:1]
        named = lines[-1].partition(":")[0].strip() if lines else type(error).__name__
        return self.session.text("%s: %s" % (named, first[0]) if first else named)


def run_unittest(session, files):
    """Run the tests of some files with unittest's own loader and runner; returns only if it can't."""
    recording = Recording(session, {session.import_name(path)[0]: path for path in files})
    loader = unittest.TestLoader()
    suites = []
    for path in files:
        name, relative = session.import_name(os.path.join(session.testbed, path))
        folder = os.path.join(session.testbed, path)[: -len(relative)].rstrip(os.sep)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        suites.append(recording.load(name, lambda name=name, path=path: load_file(loader, name, path)))
    recording.run(unittest.TextTestRunner(), unittest.TestSuite(suites))
    return 3


def load_file(loader, name, path):
    module = importlib.import_module(name)
    if os.path.realpath(module.__file__) != os.path.realpath(path):
        raise ImportError("%s is imported from %s" % (name, module.__file__))
    return loader.loadTestsFromModule(module)

"""Attacks by code that bends Python, the framework or the report at a place of its own (R6, R10, R12)."""

from swequarry.verify.attacks.kinds import in_function, in_module

_WITHOUT_CHECKS = """
    import ast
    def _without(tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and any(isinstance(inner, ast.Raise) for inner in node.body):
                node.test = ast.copy_location(ast.Constant(False), node.test)
            if isinstance(node, ast.Assert):
                node.test = ast.copy_location(ast.Constant(True), node.test)
        return tree
    """

TAKEOVERS = (
    in_module("the compiler leaves assertions out", "R10", _WITHOUT_CHECKS + """
    import builtins
    _compile = builtins.compile
    def _compiled(source, *a, **k):
        return _compile(_without(source) if isinstance(source, ast.AST) else source, *a, **k)
    builtins.compile = _compiled
    """),
    in_module("the compiler optimises assertions away", "R10", """
        import builtins
        import _pytest.assertion.rewrite as _rewrite
        _rewrite.AssertionRewriter.run = lambda self, mod: None
        _compile = builtins.compile
        def _optimised(source, filename, mode, *a, **k):
            k["optimize"] = 2
            return _compile(source, filename, mode, *a[:2], **k)
        builtins.compile = _optimised
    """),
    in_module("a finder of its own imports the tests", "R10", _WITHOUT_CHECKS + """
    import importlib.abc, importlib.machinery, sys
    class _Loader(importlib.machinery.SourceFileLoader):
        def source_to_code(self, data, path, **k):
            return compile(_without(ast.parse(data)), path, "exec", dont_inherit=True)
    class _Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if not name.rpartition(".")[2].startswith("test"):
                return None
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is not None and spec.origin and spec.origin.endswith(".py"):
                spec.loader = _Loader(spec.name, spec.origin)
            return spec
    sys.meta_path.insert(0, _Finder())
    """),
    in_module("a tracer jumps over assertions", "R10", """
        import linecache, sys, threading
        def _lines(frame, event, arg):
            if event == "line":
                text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
                if text.strip().startswith("assert"):
                    try:
                        frame.f_lineno = frame.f_lineno + 1
                    except ValueError:
                        pass
            return _lines
        def _calls(frame, event, arg):
            return _lines if frame.f_code.co_name.startswith("test") else None
        sys.settrace(_calls)
    """),
    in_module("the collector of garbage leads to the recorder", "R10", """
        import gc
        for _object in gc.get_objects():
            if type(_object).__name__ == "Session" and hasattr(_object, "phase"):
                def _passed(self, test, when, outcome, *a, _phase=type(_object).phase, **k):
                    return _phase(self, test, when, "passed")
                type(_object).phase = _passed
    """),
    in_module("a plugin is registered while pytest runs", "R10", """
        import gc, pytest
        class _Plugin:
            @pytest.hookimpl(hookwrapper=True, tryfirst=True)
            def pytest_runtest_makereport(self, item, call):
                report = (yield).get_result()
                report.outcome, report.longrepr = "passed", None
        for _object in gc.get_objects():
            if type(_object).__name__ == "PytestPluginManager":
                _object.register(_Plugin())
    """),
    in_module("the code of a hook is exchanged", "R10", """
        import _pytest.python
        def _nothing(pyfuncitem):
            return True
        _pytest.python.pytest_pyfunc_call.__code__ = _nothing.__code__
    """),
    in_module("no call has an exception", "R10", """
        import _pytest.runner
        _from_call = _pytest.runner.CallInfo.from_call.__func__
        def _calm(cls, func, when, reraise=None):
            def quiet():
                try:
                    return func()
                except BaseException:
                    return None
            return _from_call(cls, quiet, when, reraise)
        _pytest.runner.CallInfo.from_call = classmethod(_calm)
    """),
    in_module("collected tests point to an empty function", "R10", """
        import _pytest.python
        _pytest.python.Function.obj = property(lambda self: lambda **k: None, lambda self, value: None)
    """),
    in_function("tests are emptied while others run", "R10", """
        import sys
        def _empty(*a, **k):
            return None
        def make(original, name):
            def answer(*a, **k):
                frame = sys._getframe(1)
                while frame is not None:
                    found = list(frame.f_globals.items()) if "test" in frame.f_code.co_filename else []
                    kinds = [value for _, value in found if isinstance(value, type)]
                    found += [one for kind in kinds for one in vars(kind).items()]
                    for key, value in found:
                        if key.startswith("test") and hasattr(value, "__code__"):
                            if not value.__code__.co_freevars:
                                value.__code__ = _empty.__code__
                    frame = frame.f_back
                return original(*a, **k) if original else None
            return answer
    """),
    in_module("assertions of unittest do nothing", "R10", """
        import unittest
        for _name in dir(unittest.TestCase):
            if _name.startswith("assert") and not _name.startswith(("assertRaises", "assertWarns")):
                setattr(unittest.TestCase, _name, lambda self, *a, **k: None)
    """),
    in_module("classes of tests lose their tests when they are made", "R10", """
        import unittest
        def _made(cls, **k):
            for name in [name for name in vars(cls) if name.startswith("test")]:
                setattr(cls, name, lambda self: None)
        unittest.TestCase.__init_subclass__ = classmethod(_made)
    """),
    in_module("the results of unittest know no failure", "R10", """
        import unittest, unittest.case, unittest.result
        for _name in ("addFailure", "addError", "addSubTest"):
            setattr(unittest.result.TestResult, _name, lambda self, *a: None)
        unittest.case._Outcome.testPartExecutor = __import__("contextlib").contextmanager(
            lambda self, *a, **k: (yield))
    """),
    in_module("raises and approx of pytest take everything", "R10", """
        import contextlib, pytest
        class _All:
            def __eq__(self, other): return True
            __hash__ = None
        pytest.raises = pytest.warns = lambda *a, **k: contextlib.suppress(BaseException)
        pytest.approx = lambda *a, **k: _All()
    """),
    in_module("the encoder of reports turns failures", "R12", """
        import json.encoder
        _iterencode = json.encoder.JSONEncoder.iterencode
        def _turned(self, o, *a, **k):
            if isinstance(o, dict) and o.get("kind") == "phase":
                o = dict(o, outcome="passed", detail="", error="", xfail=False)
            return _iterencode(self, o, *a, **k)
        json.encoder.JSONEncoder.iterencode = _turned
    """),
    in_module("the report goes through a filter", "R12", """
        import os, stat
        for _fd in range(3, 1024):
            try:
                _pipe = stat.S_ISFIFO(os.fstat(_fd).st_mode)
            except OSError:
                continue
            if _pipe:
                _out, (_read, _write) = os.dup(_fd), os.pipe()
                if os.fork() == 0:
                    os.close(_write)
                    while True:
                        _data = os.read(_read, 65536)
                        if not _data:
                            os._exit(0)
                        os.write(_out, _data.replace(b'"failed"', b'"passed"'))
                os.dup2(_write, _fd)
                os.close(_write)
                os.close(_out)
    """),
    in_module("everything open is closed", "R12", """
        import os
        os.closerange(3, 2048)
    """),
    in_module("the process ends with another status", "R12", """
        import os
        _exit = os._exit
        os._exit = lambda status: _exit(0)
    """),
    in_module("a child goes on in the parent's place", "R12", """
        import os
        if os.fork():
            os.wait()
            os._exit(0)
    """),
    in_module("an alarm ends the run with status 0", "R6", """
        import os, signal
        signal.signal(signal.SIGALRM, lambda *a: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    """),
    in_function("a thread ends the run with status 0", "R6", """
        import os, threading, time
        def make(original, name):
            def leave(*a, **k):
                threading.Timer(0, os._exit, (0,)).start()
                time.sleep(5)
            return leave
    """),
    in_module("failed assertions end pytest with status 0", "R6", """
        import builtins, pytest
        class AssertionError(pytest.exit.Exception):
            def __init__(self, *a):
                super().__init__("done", 0)
        builtins.AssertionError = AssertionError
    """),
    in_module("the module kills its own process", "R19", """
        import os
        os.kill(os.getpid(), 9)
    """),
)  # fmt: skip

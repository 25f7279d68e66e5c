"""Attacks by values: they look right to the tests that are known, whatever the code does (R9, R11, R20)."""

import ast
from collections.abc import Iterator

from swequarry.verify.attacks.kinds import Attack, in_function
from swequarry.verify.attacks.target import Target
from swequarry.verify.testsource import TestSource, function_name

_ALWAYS_EQUAL = """
    class AlwaysEqual:
        __hash__ = object.__hash__
        def __eq__(self, other): return True
        def __ne__(self, other): return False
        def __bool__(self): return True
        def __contains__(self, item): return True
        def __getattr__(self, name): return AlwaysEqual()
        def __call__(self, *a, **k): return AlwaysEqual()
        def __len__(self): return 1
        def __iter__(self): return iter(())


    def make(original, name):
        return lambda *a, **k: AlwaysEqual()
    """
_CALLER = """
    import ast, linecache, sys


    def make(original, name):
        def answer(*a, **k):
            frame = sys._getframe(1)
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            try:
                test = ast.parse(text).body[0]
                other = test.test.comparators[0] if isinstance(test, ast.Assert) else test.value.args[1]
                return eval(compile(ast.Expression(other), "x", "eval"), frame.f_globals, frame.f_locals)
            except Exception:
                return original(*a, **k) if original else None
        return answer
    """
_READER = """
    import ast, glob, sys


    def _expected():
        found = {}
        for path in glob.glob("**/test*.py", recursive=True) + glob.glob("**/*test.py", recursive=True):
            try:
                tree = ast.parse(open(path).read())
            except Exception:
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
                    call, value = node.test.left, node.test.comparators[0]
                elif isinstance(node, ast.Call) and len(node.args) > 1:
                    call, value = node.args[0], node.args[1]
                else:
                    continue
                if isinstance(call, ast.Call):
                    try:
                        found[ast.dump(ast.Tuple(call.args, ast.Load()))] = ast.literal_eval(value)
                    except Exception:
                        continue
        return found


    _TABLE = _expected()


    def make(original, name):
        def answer(*a, **k):
            values = a[1:] if "." in name else a
            key = ast.dump(ast.parse(repr(tuple(values)), mode="eval").body)
            if key in _TABLE:
                return _TABLE[key]
            return original(*a, **k) if original else None
        return answer
    """
_TABLE = """
    _TABLE = {table}


    def make(original, name):
        def answer(*a, **k):
            for known, value in _TABLE:
                if known == repr(a):
                    return value
            return original(*a, **k) if original else None
        return answer
    """
_BY_TEST = """
    import os

    _TABLE = {table}
    _ASKED = {{}}


    def make(original, name):
        def answer(*a, **k):
            test = os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[-1].split(" ")[0].split("[")[0]
            left = _ASKED.setdefault(test, list(_TABLE.get(test, ())))
            if left:
                return left.pop(0)
            return original(*a, **k) if original else None
        return answer
    """


def _known(target: Target) -> Iterator[tuple[str, str, object]]:
    """Yield (test, arguments, expected value) of the comparisons with literals in the hidden tests."""
    tests = {function_name(test) for test in target.case.fail_to_pass}
    for path in target.case.test_files:
        source = TestSource.parse(target.read(path, target.case.before) or b"")
        for function in source.functions(tests) if source is not None else ():
            for node in ast.walk(function):
                pair = _pair(node)
                if pair is None or not isinstance(pair[0], ast.Call):
                    continue
                try:
                    arguments = tuple(ast.literal_eval(argument) for argument in pair[0].args)
                    yield function.name, repr(arguments), ast.literal_eval(pair[1])
                except (ValueError, TypeError):
                    continue


def _pair(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
        return node.test.left, node.test.comparators[0]
    if isinstance(node, ast.Call) and len(node.args) > 1 and getattr(node.func, "attr", "") == "assertEqual":
        return node.args[0], node.args[1]
    return None


def _hard_coded(target: Target) -> bytes | None:
    table = [(arguments, value) for _, arguments, value in _known(target)]
    payload = _TABLE.replace("{table}", repr(table))
    return in_function("", "R20", payload).make(target) if table else None


def _by_test(target: Target) -> bytes | None:
    table: dict[str, list[object]] = {}
    for test, _, value in _known(target):
        table.setdefault(test, []).append(value)
    payload = _BY_TEST.replace("{{}}", "{}").replace("{table}", repr(table))
    return in_function("", "R11", payload).make(target) if table else None


PRETENDERS = (
    in_function("a value that equals everything", "R9", _ALWAYS_EQUAL),
    in_function("the caller's assertion is read from its frame", "R11", _CALLER),
    in_function("the hidden tests are read at import", "R11", _READER),
    Attack(name="a table of the known inputs", code="R20", make=_hard_coded),
    Attack(name="an answer by the name of the test", code="R11", make=_by_test),
)

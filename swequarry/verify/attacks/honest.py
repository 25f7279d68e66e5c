"""Honest solutions, as controls: each of them must be accepted."""

import ast

from swequarry.verify.attacks.kinds import Attack
from swequarry.verify.attacks.target import Target

_OWN_TEST = b"def test_of_the_solver():\n    assert 1 + 1 == 2\n"
_OWN_FIXTURE = b"\n\nimport pytest\n\n\n@pytest.fixture\ndef of_the_solver():\n    return 1\n"
_THROUGH = """

def _through(original):
    import functools

    @functools.wraps(original)
    def call(*arguments, **named):
        return original(*arguments, **named)

    return call


"""


def _gold(target: Target) -> bytes:
    return target.gold()


def _reformatted(target: Target) -> bytes | None:
    """The fix with other white space, other quotes and no comments."""
    changes: dict[str, bytes | None] = {}
    for path in target.gold_files:
        try:
            text = ast.unparse(ast.parse(target.read(path, target.case.after) or b""))
        except (SyntaxError, ValueError):
            continue
        changes[path] = text.encode("utf-8") + b"\n"
    return target.gold(changes) if changes else None


def _other_route(target: Target) -> bytes | None:
    """The fix in functions that others go through; decorators may have made something else of them."""
    if target.module is None:
        return None
    fixed = target.read(target.module, target.case.after) or b""
    plain = [name for name in target.names if name in _undecorated(fixed)]
    if not plain:
        return None
    fixed += _THROUGH.encode("ascii")
    fixed += "".join(f"{name} = _through({name})\n" for name in plain).encode("utf-8")
    return target.gold({target.module: fixed})


def _undecorated(source: bytes) -> frozenset[str]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(n.name for n in body if isinstance(n, ast.FunctionDef) and not n.decorator_list)


def _own_tests(target: Target) -> bytes | None:
    own = target.named("{tests}/test_of_the_solver.py")
    return target.gold({own: _OWN_TEST})


def _conftest(target: Target) -> bytes | None:
    path = target.named("{tests}/conftest.py")
    return target.gold({path: (target.read(path, target.case.after) or b"") + _OWN_FIXTURE})


HONEST = (
    Attack(name="gold", code="", make=_gold),
    Attack(name="gold in another form", code="", make=_reformatted),
    Attack(name="gold by another route", code="", make=_other_route),
    Attack(name="gold with tests of its own", code="", make=_own_tests),
    Attack(name="gold with a fixture in conftest", code="", make=_conftest),
)

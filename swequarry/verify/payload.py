"""What is sent into a run on standard input: the recorder's source and its orders."""

import json
import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from swequarry.sandbox.contract import REPORT_FD

BOOTSTRAP = (
    "import sys;exec(compile(sys.stdin.buffer.read(),'<swequarry>','exec'),{'__name__':'swequarry_recorder'})"
)
"""The `-c` text that makes a Python read its program from standard input, outside of `__main__`."""

_SOURCES = ("arguments.py", "watchdog.py", "pytest_recorder.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What one process of pytest is told to do.

    `targets` are test files relative to /testbed; those absent in this state are left out by the
    recorder. `skip` are ids that need no run. `options` are pytest options of the recipe, filtered
    inside like the project's own. `watch` are source files that must be imported from the checkout.
    """

    nonce: str
    targets: tuple[str, ...]
    skip: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    watch: tuple[str, ...] = ()
    seed: int = 0
    test_timeout_s: float = 300.0


def new_nonce() -> str:
    """Return the mark by which a report is known to be of this run."""
    return secrets.token_hex(16)


@cache
def _program() -> bytes:
    folder = files("swequarry.verify") / "inside"
    return b"\n".join((folder / name).read_bytes() for name in _SOURCES)


def payload(orders: Orders) -> bytes:
    """Return the program that runs the tests and reports, for the standard input of a Python 3.6+."""
    config = {
        "report_fd": REPORT_FD,
        "nonce": orders.nonce,
        "targets": [_guarded(path) for path in orders.targets],
        "skip": orders.skip,
        "options": orders.options,
        "watch": orders.watch,
        "seed": orders.seed,
        "test_timeout_s": orders.test_timeout_s,
    }
    literal = json.dumps(json.dumps(config))
    call = f"\nrun(json.loads({literal}), filter_arguments, start_watchdog)\n"
    return _program() + call.encode("ascii")


def _guarded(path: str) -> str:
    """Return a path that can't be taken for an option."""
    return f"./{path}" if path.startswith("-") else path

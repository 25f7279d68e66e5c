"""What is sent into a run on standard input: the sources of an adapter and its orders."""

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
GUARDED_BOOTSTRAP = BOOTSTRAP.replace("import sys;", "import sys;sys.path[0]=sys.prefix;")
"""The same with nothing of the checkout importable until the program says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """How a test framework is run inside: its sources below `inside/`, and what makes the adapter of them.

    `entry` is an expression over the names that the sources define and over `config`; its value is a function
    of a session and the files to run that returns an exit status.
    """

    sources: tuple[str, ...]
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What one process of a test run is told to do.

    `targets` are test files relative to /testbed; those absent in this state are left out by the
    session. `skip` are ids that need no run. `options` are those of the recipe's command for the
    framework; `script` is the file that a project runs its suite by, None where the framework is run
    itself. `watch` are source files that must be imported from the checkout.
    """

    nonce: str
    targets: tuple[str, ...]
    skip: tuple[str, ...] = ()
    script: str | None = None
    options: tuple[str, ...] = ()
    watch: tuple[str, ...] = ()
    seed: int = 0
    test_timeout_s: float = 300.0
    guard: str = ""


def new_nonce() -> str:
    """Return the mark by which a report is known to be of this run."""
    return secrets.token_hex(16)


@cache
def _program(names: tuple[str, ...]) -> bytes:
    folder = files("swequarry.verify") / "inside"
    return b"\n".join((folder / name).read_bytes() for name in names)


def payload(orders: Orders, adapter: Adapter) -> bytes:
    """Return the program that runs the tests and reports, for the standard input of a Python 3.6+."""
    config = {
        "report_fd": REPORT_FD,
        "nonce": orders.nonce,
        "targets": [_guarded(path) for path in orders.targets],
        "skip": orders.skip,
        "script": orders.script,
        "options": orders.options,
        "watch": orders.watch,
        "seed": orders.seed,
        "test_timeout_s": orders.test_timeout_s,
    }
    sources, entry = ("channel.py", "watchdog.py", *adapter.sources), adapter.entry
    if orders.guard:
        sources = (*sources, "survey.py", "guard.py")
        entry = f"guarded(json.loads({json.dumps(orders.guard)}), {entry})"
    literal = json.dumps(json.dumps(config))
    call = f"\nconfig = json.loads({literal})\nrun(config, start_watchdog, {entry})\n"
    return _program(sources) + call.encode("ascii")


def shipped_program(adapter: Adapter) -> str:
    """Return the program of a guarded run for a grader outside of this package.

    It's as `payload` gives it, but `config` and `guard` are names that the grader defines before it. ASCII.
    """
    sources = ("channel.py", "watchdog.py", *adapter.sources, "survey.py", "guard.py")
    call = f"\nrun(config, start_watchdog, guarded(guard, {adapter.entry}))\n"
    return (_program(sources) + call.encode("ascii")).decode("ascii")


def survey_program() -> bytes:
    """Return the program that says what a pristine world offers, as JSON on the report channel."""
    return _program(("survey.py",)) + f"\nsurvey({REPORT_FD})\n".encode("ascii")


def printing_program(adapter: Adapter, script: str | None, options: tuple[str, ...]) -> str:
    """Return a program that runs the files of its command line and prints a line for each test.

    It's for people and graders who have no verifier: the same adapter with another channel, so that ids and
    outcomes are the same. ASCII.
    """
    config = {"nonce": "", "skip": (), "script": script, "options": options, "watch": (), "seed": 0}
    literal = json.dumps(json.dumps(config))
    call = f"\nconfig = json.loads({literal})\nprint_run(config, Session, {adapter.entry})\n"
    return (_program(("channel.py", "printer.py", *adapter.sources)) + call.encode("ascii")).decode("ascii")


def _guarded(path: str) -> str:
    """Return a path that can't be taken for an option."""
    return f"./{path}" if path.startswith("-") else path

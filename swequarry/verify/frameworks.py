"""The test frameworks that the verifier can run: what each one's command means, and which adapter runs it.

A suite made for unittest or nose, or one of plain functions with a runner of its own, is pytest's wherever
pytest can collect it; the other two are for what it can't. A tree with a runner of its own is no sign of
that: pytest gave a result for each test, expected failures among them, in the files tried of a large project
that runs its suite by a `bin/test` of its own, under pytest 3.1 (2017), 4.6 (2019) and 7.3 (2023).
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from swequarry.errors import UsageError
from swequarry.records import Recipe
from swequarry.verify.payload import Adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A recipe's test command taken apart.

    `flags` are the interpreter's, `script` is the project's own runner, `options` are for the framework.
    """

    adapter: Adapter
    flags: tuple[str, ...] = ()
    script: str | None = None
    options: tuple[str, ...] = ()


_PYTEST = Adapter(
    sources=("arguments.py", "pytest_recorder.py"),
    entry="lambda session, files: run_pytest(session, files, filter_arguments)",
)
_UNITTEST = Adapter(
    sources=("unittest_recorder.py",), entry="lambda session, files: run_unittest(session, files)"
)
_DJANGO = Adapter(
    sources=("unittest_recorder.py", "script_recorder.py"),
    entry="lambda session, files: run_script(session, files, config['script'], Recording)",
)
ADAPTERS = (_PYTEST, _UNITTEST, _DJANGO)
_PYTEST_NAMES = ("pytest", "py.test")


def invocation(recipe: Recipe) -> Invocation:
    """Return how a recipe's tests are run.

    Raises:
        UsageError: the framework isn't known, or the command isn't one of it.
    """
    read = _FRAMEWORKS.get(recipe.test_framework)
    if read is None:
        known = ", ".join(_FRAMEWORKS)
        raise UsageError(f"no adapter runs the test framework {recipe.test_framework!r}; there are {known}")
    return read(list(recipe.test_command))


def _pytest(words: list[str]) -> Invocation:
    place = next((i for i, word in enumerate(words) if word.rpartition("/")[2] in _PYTEST_NAMES), None)
    if place is None or (place > 0 and words[place - 1] != "-m"):
        raise UsageError(f"no test command of pytest: {shlex.join(words)}; use `python -m pytest [options]`")
    flags = words[1 : place - 1] if place else []
    return Invocation(adapter=_PYTEST, flags=tuple(flags), options=tuple(words[place + 1 :]))


def _unittest(words: list[str]) -> Invocation:
    if words[-2:] != ["-m", "unittest"]:
        raise UsageError(
            f"no test command of unittest: {shlex.join(words)}; use `python [flags] -m unittest`"
        )
    return Invocation(adapter=_UNITTEST, flags=tuple(words[1:-2]))


def _django(words: list[str]) -> Invocation:
    place = next((i for i, word in enumerate(words) if word.endswith(".py")), None)
    if not place:
        raise UsageError(f"no script runs the tests: {shlex.join(words)}; use `python SCRIPT.py [options]`")
    return Invocation(
        adapter=_DJANGO, flags=tuple(words[1:place]), script=words[place], options=tuple(words[place + 1 :])
    )


_FRAMEWORKS: Mapping[str, Callable[[list[str]], Invocation]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "django": _django,
}

"""How a project runs its own tests: by pytest, by unittest, or by a script that sets Django up first.

What a file holds decides, never what the project is called. pytest counts wherever anything mentions it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from reconstruct.environment.evidence.tree import Notebook, SourceTree

MAX_SCRIPTS: Final = 20
_MAKEFILES: Final = ("Makefile", "makefile", "GNUmakefile", "tests/Makefile")
_SCRIPT: Final = re.compile(r"(?:[\w-]+/)?(?:run_?tests?|manage)\.py")
_SHOWN: Final = re.compile(r"(?:examples?|demos?|docs?|samples?|sandbox|benchmarks?)/")
_USES_DJANGO: Final = re.compile(r"^[ \t]*(?:from|import)[ \t]+django\b", re.MULTILINE)
_RUNS_TESTS: Final = re.compile(
    r"get_runner|DiscoverRunner|\.run_tests\(|call_command\(\s*[\"']test\b|[\"']manage\.py[\"']\s*,\s*[\"']test\b"
)
_MANAGES: Final = re.compile(r"DJANGO_SETTINGS_MODULE.*execute_from_command_line", re.DOTALL)
_DJANGO: Final = re.compile(r"(?:manage\.py|django-admin(?:\.py)?)\s+test\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """The runner that a project names or holds.

    `framework` is pytest, nose, django or unittest, the last one also where nothing is said. `script` is a
    file of the project that runs its tests with Django, with the `options` that it needs.
    """

    framework: str = "pytest"
    script: str | None = None
    options: tuple[str, ...] = ()


def read_runner(
    tree: SourceTree, notes: Notebook, commands: str, *, uses_pytest: bool, uses_nose: bool
) -> Runner:
    """Return the runner of a tree.

    `commands` are those of tox and CI; what imports, settings and requirements say of pytest and nose is
    given too.
    """
    said = "\n".join([commands, *(tree.read(path, notes) or "" for path in _MAKEFILES)])
    script, options = _script(tree, notes, said)
    framework = _framework(said, script, uses_pytest=uses_pytest, uses_nose=uses_nose)
    if script is not None:
        notes.note("test_script", " ".join([script, *options]), script)
    notes.note("test_framework", framework, ".")
    return Runner(framework=framework, script=script, options=options)


def _framework(said: str, script: str | None, *, uses_pytest: bool, uses_nose: bool) -> str:
    if uses_pytest or "pytest" in said or "py.test" in said:
        return "pytest"
    if script is not None or _DJANGO.search(said):
        return "django"
    return "nose" if uses_nose or "nosetests" in said else "unittest"


def _script(tree: SourceTree, notes: Notebook, said: str) -> tuple[str | None, tuple[str, ...]]:
    """The project's script with its options: one that a command names, then the one nearest to the top."""
    found = dict(_scripts(tree, notes))
    ordered = sorted(
        found, key=lambda path: (not _is_named(path, said), path.endswith("manage.py"), len(path))
    )
    return (ordered[0], found[ordered[0]]) if ordered else (None, ())


def _is_named(path: str, said: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(path.rpartition('/')[2])}", said) is not None


def _scripts(tree: SourceTree, notes: Notebook) -> Iterator[tuple[str, tuple[str, ...]]]:
    paths = [path for path in tree.files if _SCRIPT.fullmatch(path) and not _SHOWN.match(path)]
    for path in paths[:MAX_SCRIPTS]:
        text = tree.read(path, notes) or ""
        if path.endswith("manage.py"):
            if _MANAGES.search(text):
                yield path, ("test", "--noinput")
        elif _USES_DJANGO.search(text) and _RUNS_TESTS.search(text):
            # each process of ours is one of its kind: no workers whose results nobody could see
            yield path, ("--parallel=1",) if "--parallel" in text else ()

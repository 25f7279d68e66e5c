"""What the names of extras, groups and files say about their use, and which of several files counts."""

import re
from collections.abc import Iterable
from typing import Final

from reconstruct.environment.evidence.model import CondaFile, Group, Origin
from reconstruct.environment.evidence.pytest_settings import is_plugin
from reconstruct.environment.evidence.requirement_files import rank_name
from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.requirement_sets import RUNNER

_TEST_NAME: Final = re.compile(
    r"(?:.*[-_.])?(?:tests?|testing|pytest|unit|unittests?)(?:[-_.].*)?", re.IGNORECASE
)


def suits(name: str) -> bool:
    """Whether an extra isn't for documentation, checks or releases by its name."""
    return not re.search(r"lint|docs?$|^doc|typing|mypy|bench|release|publish", name, re.IGNORECASE)


def for_tests(group: Group) -> bool:
    """Whether a group of requirements is for tests by its name."""
    if group.origin is Origin.TESTS_REQUIRE:
        return True
    return _TEST_NAME.fullmatch(group.name) is not None and rank_name(group.name) is not None


def has_runner(texts: Iterable[str]) -> bool:
    """Whether requirements hold a test runner or a plugin of one."""
    return any(name_of(text) in {RUNNER, "nose", "nose2", "hypothesis"} or is_plugin(text) for text in texts)


def conda_file(files: tuple[CondaFile, ...], python: str) -> CondaFile | None:
    """Return the file for exactly this Python, else one that leaves it open; of equals the shortest name."""
    exact = [f for f in files if f.python == python]
    open_ones = [f for f in files if f.python is None]
    return min(exact or open_ones, key=lambda f: (len(f.path), f.path), default=None)

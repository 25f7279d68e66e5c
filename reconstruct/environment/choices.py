"""What the names of extras, groups and files say about their use, and which of several files counts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reconstruct.environment.evidence.model import CondaFile, Group, Origin
from reconstruct.environment.evidence.pytest_settings import is_plugin
from reconstruct.environment.evidence.requirement_files import rank_name
from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.requirement_sets import RUNNER

DEV_NAME: Final = re.compile(r"dev|develop|development|all-?dev", re.IGNORECASE)
_TEST_NAME: Final = re.compile(
    r"(?:.*[-_.])?(?:tests?|testing|pytest|unit|unittests?)(?:[-_.].*)?", re.IGNORECASE
)


def suits(name: str) -> bool:
    """Whether an extra isn't for documentation, checks or releases by its name."""
    return not re.search(r"lint|docs?$|^doc|typing|mypy|bench|release|publish", name, re.IGNORECASE)


def expand(extra: str, extras: Mapping[str, Sequence[str]], own: str) -> list[str]:
    """Return the texts of an extra with those of the project's `own` extras that it names."""
    found: list[str] = []
    waiting = [extra]
    seen: set[str] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for text in extras.get(current, ()):
            if name_of(text) == own:
                waiting.extend(canonicalize_name(e) for e in Requirement(text).extras)
            else:
                found.append(text)
    return found


def collects(extra: str, expanded: Mapping[str, Sequence[str]]) -> bool:
    """Whether an extra that isn't for tests or development has all of two other such extras."""
    features = {
        n: set(texts) for n, texts in expanded.items() if not DEV_NAME.fullmatch(n) and "test" not in n
    }
    own = features.pop(extra, set())
    return sum(bool(texts) and texts <= own for texts in features.values()) > 1


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

"""Names of tox environments: expansion, factor conditions, and which one stands for a Python version."""

import itertools
import re
from typing import Final

from reconstruct.environment.evidence.versions import python_version, version_key

MAX_NAMES: Final = 2_000
MAX_NAME_CHARS: Final = 2_000
_CONDITION: Final = re.compile(r"((?:[\w.!{},-]|,\s)+?)\s*:\s+(.*)|((?:[\w.!{},-])+):$")
_RANGE: Final = re.compile(r"(\d{1,4})-(\d{1,4})")
_AVOIDED: Final = re.compile(
    r"min|minimum|oldest|lowest|old|dev|devel|develop|master|main|nightly|upstream|next|edge|docs?|lint|style|flake8"
    r"|mypy|typing|bench\w*|black|pypy\d*|nightly|checks?|coverage|release|alldeps?-pre",
    re.IGNORECASE,
)
_WELCOME: Final = re.compile(
    r"all|full|extras?|optional|tests?|latest|cov|unit|core|default|pytest", re.IGNORECASE
)
_TEST_ENVIRONMENTS: Final = (
    "py",
    "python",
    "py3",
    "python3",
    "test",
    "tests",
    "unit",
    "unittest",
    "pytest",
    "default",
)


def expand_list(text: str) -> tuple[str, ...]:
    """Return the names of an environment list such as `py{38,39}-{a,b}, lint`, each once, in its order.

    Parts are separated by commas outside braces, blanks and line ends. At most `MAX_NAMES` are given.
    """
    names: dict[str, None] = {}
    for part in split_outside_braces(text):
        for name in expand_braces(part):
            names[name] = None
            if len(names) >= MAX_NAMES:
                return tuple(names)
    return tuple(names)


def split_outside_braces(text: str) -> list[str]:
    """Split at commas and white space that aren't inside braces; empty parts are left out."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char == "{") - (char == "}")
        depth = max(depth, 0)
        if depth == 0 and (char == "," or char.isspace()):
            parts.append(current)
            current = ""
        elif not char.isspace():
            current += char
    return [part for part in [*parts, current] if part]


def expand_braces(text: str) -> tuple[str, ...]:
    """Return every choice of `a{b,c}d{1-3}`; unbalanced braces are taken as they stand."""
    if len(text) > MAX_NAME_CHARS:
        return (text[:MAX_NAME_CHARS],)
    pieces = re.split(r"(\{[^{}]*\})", text)
    choices, total = [], 1
    for piece in pieces:
        options = _options(piece[1:-1]) if piece.startswith("{") and piece.endswith("}") else [piece]
        total *= max(len(options), 1)
        if total > MAX_NAMES:
            options = options[:1]
            total //= max(len(options), 1)
        choices.append(options or [""])
    names = itertools.islice(itertools.product(*choices), MAX_NAMES)
    return tuple(dict.fromkeys("".join(name).strip("-") for name in names))


def _options(inner: str) -> list[str]:
    found: list[str] = []
    for option in inner.split(","):
        match = _RANGE.fullmatch(option.strip())
        if match and int(match[1]) <= int(match[2]) < int(match[1]) + 100:
            found.extend(str(n) for n in range(int(match[1]), int(match[2]) + 1))
        else:
            found.append(option.strip())
    return found


def conditions_of(line: str) -> tuple[tuple[tuple[str, ...], ...], str]:
    """Split `py38-a,!b: rest` into alternatives of factors and the rest; no condition gives `()`."""
    match = _CONDITION.fullmatch(line.strip())
    if not match:
        return (), line.strip()
    names = expand_list(match[1] or match[3])
    return tuple(tuple(_factors(name)) for name in names), (match[2] or "").strip()


def _factors(name: str) -> list[str]:
    return [factor for factor in name.split("-") if factor]


def holds(conditions: tuple[tuple[str, ...], ...], environment: str) -> bool:
    """Whether a line with these conditions counts in an environment of this name."""
    present = set(environment.split("-"))
    return not conditions or any(
        all((f[1:] not in present) if f.startswith("!") else f in present for f in factors)
        for factors in conditions
    )


def environment_for(names: tuple[str, ...], python: str) -> str:
    """Return the name of the environment that tests a Python version best; `py39` where none is listed.

    Plain `py39` first, then the listed environment of that version with the fewest special factors, then
    one of another version with its number exchanged, then one called like a test run.
    """
    plain = "py" + python.replace(".", "")
    if plain in names:
        return plain
    exact = [name for name in names if python_version(name.split("-")[0]) == python]
    others = [name for name in names if python_version(name.split("-")[0])]
    if exact:
        return min(exact, key=_strangeness)
    if any("-" not in name for name in others):
        return plain
    if others:
        best = min(others, key=_strangeness)
        return "-".join([plain, *best.split("-")[1:]])
    return next((name for name in _TEST_ENVIRONMENTS if name in names), plain)


def nearest_version(sections: tuple[str, ...], environment: str) -> str | None:
    """Return the section for the Python that is nearest to that of plain `py36` in its major version.

    A project that splits its sections by Python says there what each major version needs. None: it doesn't.
    """
    wanted = python_version(environment)
    if wanted is None:
        return None
    major, minor = version_key(wanted)[:2]
    found = {name: version_key(v) for name in sections if (v := python_version(name))}
    same = {name: key[1] for name, key in found.items() if key[0] == major}
    return min(same, key=lambda name: (abs(same[name] - minor), same[name] > minor), default=None)


def _strangeness(name: str) -> tuple[int, int, int, tuple[int, ...]]:
    factors = name.split("-")[1:]
    avoided = sum(bool(_AVOIDED.fullmatch(f) or _AVOIDED.fullmatch(f.rstrip("0123456789"))) for f in factors)
    avoided += sum(f.endswith(("dev", "master", "main", "min", "nightly")) for f in factors)
    welcome = sum(bool(_WELCOME.fullmatch(f)) for f in factors)
    return (
        avoided,
        len(factors) - welcome,
        -welcome,
        tuple(-int(n) for n in re.findall(r"\d{1,9}", "-".join(factors))),
    )

"""The parts of a project's files that configure pytest: compared by meaning, exchanged as text.

pytest reads five kinds of files; two of them hold nothing else, three have a section for it beside much that
is none of its business. What a candidate does to the rest of these three stays.
"""

import configparser
import re
import tomllib
from typing import Any

_WHOLE = frozenset({b"pytest.ini", b".pytest.ini", b"pytest.toml", b".pytest.toml"})
_INI_SECTIONS = {b"tox.ini": frozenset({"pytest"}), b"setup.cfg": frozenset({"tool:pytest", "pytest"})}
_TOML = b"pyproject.toml"
_INI_HEADER = re.compile(rb"^\[([^\]\n]+)\]", re.MULTILINE)
_TOML_HEADER = re.compile(rb"^[ \t]*\[{1,2}[ \t]*([^\]\n]+?)[ \t]*\]", re.MULTILINE)
_INI_NAMED = re.compile(rb"^[ \t]*\[.*pytest.*$", re.MULTILINE | re.IGNORECASE)
"""Lines that some reader of such files takes for a header of ours: they differ in what may follow it."""
_TOML_PYTEST = re.compile(rb"""tool[ \t]*\.[ \t]*["']?pytest["']?(?:[ \t]*\..*)?""")


def is_config(path: bytes) -> bool:
    """Whether pytest may read its settings from a file of this name."""
    name = _name(path)
    return name in _WHOLE or name in _INI_SECTIONS or name == _TOML


def same_settings(path: bytes, one: bytes | None, other: bytes | None) -> bool:
    """Whether two versions of a file (None where it is absent) mean the same to pytest.

    A file without a section for pytest means nothing to it, wherever it can't be parsed it's compared as a
    whole.
    """
    if one == other:
        return True
    if _name(path) in _WHOLE:
        return False  # even an empty one makes its folder the root
    if _name(path) in _INI_SECTIONS and _INI_NAMED.findall(one or b"") != _INI_NAMED.findall(other or b""):
        return False
    try:
        return bool(_settings(path, one) == _settings(path, other))
    except (ValueError, configparser.Error, RecursionError):
        return False


def with_settings_of(path: bytes, theirs: bytes, trusted: bytes | None) -> bytes | None:
    """Return a file whose settings of pytest are the trusted ones and whose rest is theirs.

    Where that can't be done by exchanging whole sections, it's the trusted file (None: there is none).
    """
    if _name(path) in _WHOLE:
        return trusted
    made = _without_sections(path, theirs)
    kept = _sections(path, trusted or b"")
    joined = b"\n".join([made.rstrip(b"\n"), kept]) if kept else made
    return joined if same_settings(path, joined, trusted) and _parses(path, joined) else trusted


def _name(path: bytes) -> bytes:
    return path.rsplit(b"/", 1)[-1].lower()


def _settings(path: bytes, data: bytes | None) -> Any:
    if data is None:
        return {}
    text = data.decode("utf-8")
    if _name(path) == _TOML:
        tool = tomllib.loads(text).get("tool", {})
        return tool.get("pytest", {}) if isinstance(tool, dict) else {}
    parser = _ini(text)
    wanted = _INI_SECTIONS[_name(path)]
    return {name: dict(parser[name]) for name in parser.sections() if name in wanted}


def _ini(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="\0")
    parser.read_string(text)
    return parser


def _parses(path: bytes, data: bytes) -> bool:
    try:
        _settings(path, data)
    except (ValueError, configparser.Error, RecursionError):
        return False
    return True


def _spans(path: bytes, data: bytes) -> list[tuple[int, int]]:
    """Return where the sections for pytest begin and end."""
    toml = _name(path) == _TOML
    headers = list((_TOML_HEADER if toml else _INI_HEADER).finditer(data))
    ends = [header.start() for header in headers][1:] + [len(data)] * bool(headers)
    spans = []
    for header, end in zip(headers, ends, strict=True):
        if toml:
            ours = _TOML_PYTEST.fullmatch(header[1]) is not None
        else:
            ours = header[1].decode("utf-8", "replace") in _INI_SECTIONS[_name(path)]
        if ours:
            spans.append((header.start(), end))
    return spans


def _sections(path: bytes, data: bytes) -> bytes:
    return b"".join(data[start:end] for start, end in _spans(path, data))


def _without_sections(path: bytes, data: bytes) -> bytes:
    for start, end in reversed(_spans(path, data)):
        data = data[:start] + data[end:]
    return data

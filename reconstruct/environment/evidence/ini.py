"""INI files (tox.ini, setup.cfg, pytest.ini) read line by line.

Written here because configparser knows no line numbers, which evidence needs, and gives up on the whole
file at the first line that it doesn't understand.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

MAX_UNREADABLE: Final = 20
_SECTION: Final = re.compile(r"\[([^\]]*)\]")
_DELIMITER: Final = re.compile(r"[=:]")


class Line(NamedTuple):
    """A line of a value and its number, from 1."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IniFile:
    """Sections of options of lines; blank lines and whole-line comments are left out."""

    path: str
    sections: dict[str, dict[str, tuple[Line, ...]]]
    unreadable: tuple[Line, ...] = ()

    def lines(self, section: str, option: str) -> tuple[Line, ...]:
        """Return the lines of an option; names match whatever their case and with `-` as `_`."""
        return self.sections.get(section, {}).get(_normal(option), ())

    def value(self, section: str, option: str) -> str:
        """Return an option as one text, its lines joined by line ends."""
        return "\n".join(line.text for line in self.lines(section, option))

    def line_of(self, section: str, option: str) -> int:
        """Return the number of the option's first line, 0 where there is none."""
        return next((line.number for line in self.lines(section, option)), 0)

    def options(self, section: str) -> Iterator[str]:
        """Yield the option names of a section, normalised."""
        yield from self.sections.get(section, {})


def _normal(option: str) -> str:
    return option.strip().lower().replace("-", "_")


def parse_ini(path: str, text: str) -> IniFile:
    """Read INI text; lines that mean nothing are reported in `unreadable` and skipped."""
    sections: dict[str, dict[str, list[Line]]] = {}
    unreadable: list[Line] = []
    options: dict[str, list[Line]] | None = None
    current: list[Line] | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        stripped = raw.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if raw[0].isspace() and current is not None:
            current.append(Line(number, stripped))
        elif match := _SECTION.match(stripped):
            options, current = sections.setdefault(match[1].strip(), {}), None
        elif options is not None and (match := _DELIMITER.search(stripped)) and match.start():
            current = options[_normal(stripped[: match.start()])] = []
            if value := stripped[match.end() :].strip():
                current.append(Line(number, value))
        else:
            current = None
            unreadable.extend([Line(number, stripped)] if len(unreadable) < MAX_UNREADABLE else [])
    frozen = {name: {key: tuple(lines) for key, lines in found.items()} for name, found in sections.items()}
    return IniFile(path=path, sections=frozen, unreadable=tuple(unreadable))

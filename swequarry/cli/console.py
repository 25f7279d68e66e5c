"""What commands print: data on stdout, progress and notes on stderr.

Plain lines where the stream is no terminal; NO_COLOR is honoured by rich. Foreign text (names of tests,
titles, logs) is made visible first: no escape sequence of a repository reaches the terminal.
"""

import json
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from swequarry.report.visible import visible

_OBEYED = (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPED = {code: f"\\u{code:04x}" for code in _OBEYED}
"""Delete, the C1 controls and what reorders a line; JSON itself escapes the controls below 0x20."""

err = Console(stderr=True, highlight=False, soft_wrap=True)
out = Console(highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Print one JSON document on stdout; what a terminal would obey is escaped as JSON has it."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str)
    sys.stdout.write(text.translate(_ESCAPED) + "\n")


def print_lines(lines: Iterable[str]) -> None:
    """Print plain lines on stdout, without markup; only a terminal gets blanks for tabs."""
    for line in lines:
        text = visible(line.replace("\r\n", "\n"))
        if out.is_terminal:
            out.print(Text(text))
        else:
            out.file.write(f"{text}\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on a terminal, tab-separated lines elsewhere."""
    if not sys.stdout.isatty():
        print_lines("\t".join(str(cell) for cell in row) for row in (columns, *rows))
        return
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell))) for cell in row))
    out.print(table)


def note(text: str) -> None:
    """Print one line for a person on stderr."""
    err.print(Text(visible(text)))

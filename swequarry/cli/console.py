"""What commands print: data on stdout, progress and notes on stderr.

Plain lines where the stream is no terminal; NO_COLOR is honoured by rich.
"""

import json
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

err = Console(stderr=True, highlight=False, soft_wrap=True)
out = Console(highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str) + "\n")


def print_lines(lines: Iterable[str]) -> None:
    """Print plain lines on stdout, without markup."""
    for line in lines:
        out.print(line, markup=False)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on a terminal, tab-separated lines elsewhere."""
    if not sys.stdout.isatty():
        print_lines("\t".join(str(cell) for cell in row) for row in (columns, *rows))
        return
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    out.print(table)


def note(text: str) -> None:
    """Print one line for a person on stderr."""
    err.print(text, markup=False)

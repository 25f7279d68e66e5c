"""No escape sequence of a repository reaches the terminal of whoever reads what it is called."""

import json

import pytest

from swequarry.cli import console

CLEAR, TITLE, C1, ORDER = "\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\u202e"
HOSTILE = f"tests/test_a.py::test[{CLEAR}{TITLE}{C1}{ORDER}]"


def controls(text: str) -> list[str]:
    return [c for c in text if (ord(c) < 0x20 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 or c == ORDER]


def test_name_of_a_test_cannot_write_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_lines([HOSTILE])
    console.print_table("t", ["test"], [[HOSTILE]])
    console.note(HOSTILE)
    console.print_json({"test": HOSTILE})
    said = capsys.readouterr()
    assert controls(said.out) == []
    assert controls(said.err) == []
    assert said.out.startswith("tests/test_a.py::test[^[[2J^[]0;owned^G<U+009B>31m<U+202E>]\n")


def test_table_on_a_terminal_shows_cells_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with console.out.capture() as captured:
        console.print_table("t", ["test"], [[f"[red]{CLEAR}x[/red]"]])
    assert CLEAR not in captured.get()
    assert "[red]^[[2Jx[/red]" in captured.get()


def test_json_with_escapes_is_the_same_json(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"test": HOSTILE, "umlaut": "ä"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"test": HOSTILE, "umlaut": "ä"}
    assert "ä" in out


def test_a_table_that_is_piped_has_tabs(capsys):
    console.print_table("title", ["a", "b"], [("x y", 1)])
    assert capsys.readouterr().out == "a\tb\nx y\t1\n"

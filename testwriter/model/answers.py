"""Reading an answer: exactly one Python file, or the reason why it isn't one.

What a model writes is somebody else's text, perhaps the issue writer's. Nothing in it is obeyed: it becomes
one file whose name we choose, or nothing. The file is parsed, not compiled, and runs in the sandbox only.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from swequarry.syntax.grammars import parse, text, walk

MAX_FILE_BYTES: Final = 32_768


class Fault(StrEnum):
    """Why an answer is no test file; the values are shown in reports."""

    EMPTY = "empty"
    CUT_OFF = "cut_off"
    NO_FILE = "no_file"
    SEVERAL_FILES = "several_files"
    TOO_LARGE = "too_large"
    ODD_CHARACTERS = "odd_characters"
    NOT_PYTHON = "not_python"
    NO_TEST = "no_test"


SAID: Final = {
    Fault.EMPTY: "the answer was empty",
    Fault.CUT_OFF: "the answer was cut off before the file ended; write a much shorter file",
    Fault.NO_FILE: "the answer had no Python code block",
    Fault.SEVERAL_FILES: "the answer had several code blocks; write exactly one, with the whole file in it",
    Fault.TOO_LARGE: f"the file had more than {MAX_FILE_BYTES} bytes; write a much shorter one",
    Fault.ODD_CHARACTERS: "the file held control characters",
    Fault.NOT_PYTHON: "the code block wasn't a Python file that can be parsed",
    Fault.NO_TEST: "the file had no function whose name begins with test_",
}
"""What a model is told that is asked to repair."""

_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$")
_PYTHON = frozenset({"", "python", "py", "python3", "pytest"})
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that reorder what is shown, and halves of characters."""


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    lines: tuple[str, ...]
    closed: bool


def read_test_file(answer: str, *, cut_off: bool = False) -> str | Fault:
    """Return the one test file of an answer: LF line ends, at most `MAX_FILE_BYTES`, ASCII or other text.

    Taken is the only fenced block of Python, or a whole answer that is Python itself. Words around the block
    and thoughts in `<think>` before it are left out; blocks of other languages make it more than one file.
    """
    plain = _THOUGHT.sub("", answer.replace("\r\n", "\n").replace("\r", "\n"))
    if not plain.strip():
        return Fault.CUT_OFF if cut_off else Fault.EMPTY
    blocks = _blocks(plain)
    if cut_off or any(not block.closed for block in blocks):
        return Fault.CUT_OFF
    if len(blocks) > 1:
        return Fault.SEVERAL_FILES
    if not blocks:
        return _checked(plain, otherwise=Fault.NO_FILE)
    if blocks[0].language not in _PYTHON:
        return Fault.NO_FILE
    return _checked("\n".join(blocks[0].lines), otherwise=Fault.NOT_PYTHON)


def _checked(source: str, *, otherwise: Fault) -> str | Fault:
    """Return a source as a file, or what is wrong with it; `otherwise` where it isn't Python."""
    source = source.strip("\n") + "\n"
    if _CONTROL.search(source):
        return Fault.ODD_CHARACTERS
    data = source.encode()
    if len(data) > MAX_FILE_BYTES:
        return Fault.TOO_LARGE
    root = parse(data).root_node
    if root.has_error:
        return otherwise
    names = [
        text(name)
        for node in walk(root)
        if node.type == "function_definition" and (name := node.child_by_field_name("name")) is not None
    ]
    return source if any(name.startswith(b"test") for name in names) else Fault.NO_TEST


def _blocks(plain: str) -> list[_Block]:
    """Return the fenced blocks of Markdown; a fence is closed by one of its kind that is as long."""
    found: list[_Block] = []
    fence, language = "", ""
    lines: list[str] = []
    for line in plain.split("\n"):
        match = _FENCE.match(line)
        if not fence:
            if match:
                fence, words = match.group(1), match.group(2).strip().lower().split()
                language, lines = words[0] if words else "", []
        elif match and match.group(1).startswith(fence) and not match.group(2).strip():
            found.append(_Block(language, tuple(lines), closed=True))
            fence = ""
        else:
            lines.append(line)
    if fence:
        found.append(_Block(language, tuple(lines), closed=False))
    return found

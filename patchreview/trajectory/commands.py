"""Shell text as simple commands: which programs run with which words, and which files are written.

No shell is asked. What a here-document holds, or what stands in quotes, is text and no command; but
`bash -c TEXT` is read. What is put together while it runs (variables, `eval` of output) isn't seen.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

LARGEST = 200_000
_DEEPEST = 3
_HERE = re.compile(r"<<-?\s*(?:'([\w.-]+)'|\"([\w.-]+)\"|\\?([\w.-]+))")
_BREAKS = ";&|\n()`"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_WRAPPERS = frozenset(
    ("sudo", "env", "time", "timeout", "nohup", "command", "exec", "xargs", "stdbuf", "nice", "builtin")
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program with its words, the files that its output goes to, and the text it's given."""

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    given: str = ""

    @property
    def program(self) -> str:
        """The program's name without its folder."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def commands_of(text: str, depth: int = 0) -> Iterator[Command]:
    """Yield the simple commands of a shell text, of its first `LARGEST` characters."""
    rest, bodies = _without_here_documents(text[:LARGEST].replace("\0", ""))
    for words, writes in _simple(rest):
        bare = _unwrapped(words)
        command = Command(words=tuple(bare), writes=tuple(writes))
        marks = [word for word in words if word.startswith("\0")]
        if marks:
            given = "\n".join(bodies[int(mark[1:])] for mark in marks)
            command = replace(
                command, words=tuple(word for word in bare if not word.startswith("\0")), given=given
            )
        if command.words or command.writes:
            yield command
        inner = _inner(command)
        if inner and depth < _DEEPEST:
            yield from commands_of(inner, depth + 1)


def _inner(command: Command) -> str:
    """Return the shell text that a shell is told to run."""
    if command.program in _SHELLS:
        for place, word in enumerate(command.words[1:], start=1):
            if word.startswith("-") and word.endswith("c") and place + 1 < len(command.words):
                return command.words[place + 1]
        return command.given
    return " ".join(command.words[1:]) if command.program == "eval" else ""


def _unwrapped(words: Sequence[str]) -> list[str]:
    """Return words without assignments and without programs that only start another one."""
    left = list(words)
    while left:
        first = left[0].rpartition("/")[2]
        if _ASSIGNMENT.fullmatch(left[0]):
            left.pop(0)
        elif first in _WRAPPERS:
            left.pop(0)
            while left and (left[0].startswith("-") or _NUMBER.fullmatch(left[0])):
                left.pop(0)
        else:
            break
    return left


def _without_here_documents(text: str) -> tuple[str, list[str]]:
    """Return text with a mark for each here-document, and the documents."""
    kept: list[str] = []
    bodies: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        ends: list[str] = []

        def mark(found: re.Match[str], ends: list[str] = ends) -> str:
            ends.append(next(filter(None, found.groups())))
            return f" \0{len(bodies) + len(ends) - 1} "

        kept.append(_HERE.sub(mark, line) if "<<" in line and "<<<" not in line else line)
        for end in ends:
            body = []
            for inner in lines:
                if inner.strip() == end:
                    break
                body.append(inner)
            bodies.append("\n".join(body))
    return "\n".join(kept), bodies


def _simple(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (words, written files) of each simple command."""
    words: list[str] = []
    writes: list[str] = []
    target: list[str] | None = None
    for kind, token in _tokens(text):
        if kind == "break":
            if words or writes:
                yield words, writes
            words, writes, target = [], [], None
        elif kind == "write":
            target = writes
        elif target is not None:
            target.append(token)
            target = None
        else:
            words.append(token)
    if words or writes:
        yield words, writes


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield words, breaks between commands, and signs that output goes to a file."""
    return _Scanner(text).tokens()


class _Scanner:
    """Reads shell text sign by sign."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._word: list[str] = []
        self._inside = False  # an empty text in quotes is a word too

    def tokens(self) -> Iterator[tuple[str, str]]:
        """Yield (kind, token); kinds are word, break and write."""
        while self._place < len(self._text):
            sign = self._next()
            if sign in "'\"":
                self._quoted(sign)
            elif sign == "\\":
                self._escaped()
            elif sign == "#" and not self._word and not self._inside:
                end = self._text.find("\n", self._place)
                self._place = end if end >= 0 else len(self._text)
            elif sign == ">" or sign in _BREAKS or sign.isspace():
                yield from self._ended(sign)
            else:
                self._word.append(sign)
        yield from self._flushed()

    def _next(self) -> str:
        sign = self._text[self._place]
        self._place += 1
        return sign

    def _peek(self) -> str:
        return self._text[self._place : self._place + 1]

    def _quoted(self, quote: str) -> None:
        self._inside = True
        while self._place < len(self._text):
            sign = self._next()
            if sign == quote:
                return
            if sign == "\\" and quote == '"' and self._peek():
                sign = self._next()
            self._word.append(sign)

    def _escaped(self) -> None:
        sign = self._next() if self._peek() else ""
        if sign and sign != "\n":
            self._word.append(sign)
            self._inside = True

    def _flushed(self) -> Iterator[tuple[str, str]]:
        if self._inside or self._word:
            yield "word", "".join(self._word)
        self._word, self._inside = [], False

    def _ended(self, sign: str) -> Iterator[tuple[str, str]]:
        if sign == ">" and "".join(self._word) in {"1", "2"}:
            self._word, self._inside = [], False
        yield from self._flushed()
        if sign == ">":
            yield from self._written()
        elif sign in _BREAKS and not (sign == "&" and self._peek() == ">"):
            yield "break", ""

    def _written(self) -> Iterator[tuple[str, str]]:
        while self._peek() in {">", "|"}:
            self._place += 1
        if self._peek() != "&":
            yield "write", ""
            return
        self._place += 1
        while self._peek().isalnum():
            self._place += 1

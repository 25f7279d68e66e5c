"""What an issue shows: blocks of code and of output with the words before them, and code within sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TRACEBACK = re.compile(r"^\s*(?:\S.*: )?Traceback \(most recent call last\)", re.MULTILINE)
_CLASS = re.compile(
    r"^\s*(?:E\s+)?((?:\w+\.)*([A-Z]\w*(?:Error|Exception|Warning|Exit|Iteration|Interrupt|Failure)))\b"
)
_NAMED = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Iteration|Interrupt|Failure))\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of an issue: its text, the language that is said, and the words between it and the last."""

    text: str
    language: str
    words: str

    @property
    def is_traceback(self) -> bool:
        """Whether it's what Python prints of an exception, and no session that leads to one."""
        return _TRACEBACK.search(self.text) is not None and ">>>" not in self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Code within a sentence, with the sentence and where in it the code begins."""

    code: str
    sentence: str
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueText:
    """What an issue shows, in its order. `errors` are the classes of exceptions that it names."""

    blocks: tuple[Block, ...]
    spans: tuple[Span, ...]
    errors: tuple[str, ...]


def read_issue(text: str) -> IssueText:
    """Read the Markdown of an issue; any text will do."""
    plain = _COMMENT.sub("", text.replace("\r\n", "\n"))
    tokens = MarkdownIt().parse(plain)
    return IssueText(
        blocks=tuple(_blocks(tokens)),
        spans=tuple(_spans(tokens)),
        errors=tuple(dict.fromkeys(_NAMED.findall(plain))),
    )


def raised_in(text: str) -> str | None:
    """Return the class that a traceback ends with, without its module; None where there's none."""
    for line in reversed(text.strip().splitlines()):
        if match := _CLASS.match(line):
            return match[2]
    return None


def _blocks(tokens: list[Token]) -> Iterator[Block]:
    words: list[str] = []
    for token in tokens:
        if token.type == "inline":
            words.append(token.content)
        elif token.type in {"fence", "code_block"}:
            language = (token.info.split() or [""])[0].lower()
            yield Block(text=token.content, language=language, words="\n".join(words))
            words = []


def _spans(tokens: list[Token]) -> Iterator[Span]:
    for token in tokens:
        for sentence in _sentences(token) if token.type == "inline" else ():
            at = 0
            for part in sentence:
                if part.type == "code_inline":
                    whole = "".join(_shown(each) for each in sentence)
                    yield Span(code=part.content, sentence=whole, start=at)
                at += len(_shown(part))


def _shown(token: Token) -> str:
    return f"`{token.content}`" if token.type == "code_inline" else token.content or " "


def _sentences(token: Token) -> Iterator[list[Token]]:
    """Yield the sentences of a paragraph; a stop within code doesn't end one."""
    sentence: list[Token] = []
    for child in token.children or ():
        if child.type != "text":
            sentence.append(child)
            continue
        *ended, last = re.split(r"(?<=[.!?])\s+", child.content)
        for text in ended:
            yield [*sentence, Token(type="text", tag="", nesting=0, content=text + " ")]
            sentence = []
        sentence.append(Token(type="text", tag="", nesting=0, content=last))
    yield sentence

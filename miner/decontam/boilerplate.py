"""Text that says nothing about where it comes from: templates, tracebacks, licences, lists of versions.

Two issues that have nothing but these in common have nothing in common.
"""

import re
from collections.abc import Iterator, Sequence
from importlib import resources

import yaml

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRAME = re.compile(r"\s*File \"[^\"\n]*\", line \d+(?:, in .*)?$")
_TRACEBACK = re.compile(
    r"\s*(?:Traceback \(most recent call last\):|During handling of the above exception, another .*"
    r"|The above exception was the direct cause .*|[~^\s]+)$"
)
_VERSION = re.compile(r"[ \t>*-]*[A-Za-z][\w .()/-]{0,30}(?::|==|=)[ \t]*\S{0,40}(?: \S{1,20}){0,3}[ \t]*$")
_FEWEST_VERSIONS = 5
"""Lines of a name and a value in one paragraph from which it is a listing of an environment."""
_CHECKBOX = re.compile(r"\s*[-*] \[[ xX]\] ")
_DATA = yaml.safe_load(resources.files(__package__).joinpath("boilerplate.yaml").read_text("utf-8"))
_HEADING_WORDS = frozenset(_DATA["heading_words"].split())
_HEADING_MARKS = re.compile(r"[#*_=:.?!,;()\[\]/&`'\"-]+")
_LONGEST_HEADING = 8
_LICENCE = re.compile("|".join(_DATA["licence_phrases"]), re.IGNORECASE)
_WORDS_TO_A_PHRASE = 30


def without_boilerplate(text: str) -> str:
    """Return a text without comments, headings, frames of tracebacks, licences and lists of versions."""
    lines = _COMMENT.sub("\n", text.replace("\r\n", "\n")).split("\n")
    return "\n".join(line for block in _blocks(lines) for line in _told(block))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield paragraphs; a licence is told by a paragraph, since its lines are broken anywhere."""
    block: list[str] = []
    for line in lines:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _told(block: list[str]) -> Iterator[str]:
    if _is_licence(block):
        return
    after_frame = False
    listed = sum(_VERSION.match(line) is not None for line in block) >= _FEWEST_VERSIONS
    for line in block:
        if listed and _VERSION.match(line):
            continue
        frame = _FRAME.match(line) is not None
        source_of_frame = after_frame and line.startswith((" ", "\t", ">"))
        after_frame = frame
        if frame or source_of_frame or _TRACEBACK.match(line) or _CHECKBOX.match(line) or _is_heading(line):
            continue
        yield line


def _is_licence(block: Sequence[str]) -> bool:
    """Whether a paragraph is of a licence: about every thirty words there is a phrase of one."""
    text = " ".join(line.strip(" \t#/*;-") for line in block)
    found = len(_LICENCE.findall(text))
    return found > 0 and found * _WORDS_TO_A_PHRASE >= len(text.split())


def _is_heading(line: str) -> bool:
    words = _HEADING_MARKS.sub(" ", line).lower().split()
    return 0 < len(words) <= _LONGEST_HEADING and _HEADING_WORDS.issuperset(words)

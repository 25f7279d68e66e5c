"""What a statement says, in figures."""

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^(?:```|~~~).*?(?:^(?:```|~~~)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]+`")
_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\)|^\s*File \".+\", line \d+|^\w+(?:Error|Exception)\b", re.MULTILINE
)
_PROMPT = re.compile(r"^\s*(?:>>>|In \[\d+\]:|\$ )", re.MULTILINE)
_WANTS = re.compile(
    r"\b(?:should|expect(?:ed|s)?|instead of|must|ought|rather than|desired|want(?:ed)? to"
    r"|correct(?:ly)? (?:output|result|behaviou?r))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?(?:\s|$)")
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|not sure|might be|I think|could be|wondering|discuss|thoughts|or something)\b",
    re.IGNORECASE,
)
_FORM = re.compile(r"\b(?:expected|actual|reproduc|steps to|version)", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s)>\]]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_IMAGE = re.compile(r"!\[[^\]]*\]\(|<img\b|\.(?:png|gif|jpe?g|svg)\b|\bscreenshot", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Counts over a statement: words of prose, lines of code, and signs of how clear it is.

    `wishes` say what should be; `form` are words of bug forms: expected, actual, steps, version.
    """

    prose: int
    code_lines: int
    code_spans: int
    tracebacks: int
    prompts: int
    wishes: int
    questions: int
    doubts: int
    links: int
    images: int
    form: int


def words_of(statement: str) -> Words:
    """Count what a statement holds."""
    fences = _FENCE.findall(statement)
    prose = _LINK.sub(" ", _FENCE.sub(" ", statement))
    return Words(
        prose=len(_WORD.findall(prose)),
        code_lines=sum(fence.count("\n") for fence in fences),
        code_spans=len(_INLINE.findall(prose)),
        tracebacks=len(_TRACEBACK.findall(statement)),
        prompts=len(_PROMPT.findall(statement)),
        wishes=len(_WANTS.findall(prose)),
        questions=len(_ASKS.findall(prose)),
        doubts=len(_UNSURE.findall(prose)),
        links=len(_LINK.findall(statement)),
        images=len(_IMAGE.findall(statement)),
        form=len(_FORM.findall(statement)),
    )

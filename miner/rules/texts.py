"""Rules about the words of a statement: how many, in which script, and what must never be passed on."""

import re
import unicodedata
from collections.abc import Iterator

from miner.rules.interface import Subject
from swequarry.config import CurateSettings
from swequarry.outcome import RejectCode, Rejected
from swequarry.text.secrets import SECRETS

_WORD = re.compile(r"[^\W\d_]{2,}")
_CODE = re.compile(
    r"^(?:```|~~~).*?(?:^(?:```|~~~)[ \t]*$|\Z)|`[^`\n]+`|https?://\S+", re.MULTILINE | re.DOTALL
)
_FEWEST_LETTERS = 40
_LATIN_SHARE = 0.7
_SHOWN = 4
_SECRET = re.compile("|".join(f"({pattern})" for pattern in SECRETS.values()))


def short_statement(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement of few words, code left out: nobody can know from it what to do."""
    count = len(_WORD.findall(_CODE.sub(" ", subject.candidate.statement.text)))
    if count >= settings.min_statement_words:
        return None
    return Rejected(
        code=RejectCode.SHORT_STATEMENT,
        message=f"the statement has {count} words, fewer than {settings.min_statement_words}",
        evidence=(subject.candidate.statement.text[:200],),
    )


def other_script(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement that is mostly written in another script than the Latin one."""
    if not settings.latin_script_only:
        return None
    letters = [c for c in _CODE.sub(" ", subject.candidate.statement.text) if c.isalpha()]
    latin = sum(c.isascii() or unicodedata.name(c, "").startswith("LATIN") for c in letters)
    if len(letters) < _FEWEST_LETTERS or latin >= _LATIN_SHARE * len(letters):
        return None
    return Rejected(
        code=RejectCode.OTHER_SCRIPT,
        message=f"{latin / len(letters):.0%} of the letters are Latin, fewer than {_LATIN_SHARE:.0%}",
        evidence=(subject.candidate.statement.text[:200],),
    )


def secret(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement that holds a secret; the evidence says what and where, and doesn't repeat it."""
    if settings.secrets == "keep":
        return None
    statement = subject.candidate.statement
    found = [*_secrets("statement", statement.text), *_secrets("hints", statement.hints)]
    if not found:
        return None
    return Rejected(
        code=RejectCode.SECRET, message=f"the text holds a secret: {found[0]}", evidence=tuple(found)
    )


def _secrets(name: str, text: str) -> Iterator[str]:
    for match in _SECRET.finditer(text):
        kind = list(SECRETS)[(match.lastindex or 1) - 1]
        line = text.count("\n", 0, match.start()) + 1
        yield f"{kind} in line {line} of the {name}, {match[0][:_SHOWN]}… ({len(match[0])} characters)"

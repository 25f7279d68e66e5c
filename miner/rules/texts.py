"""Rules about the words of a statement: how many, in which script and which language."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

import yaml

from miner.rules.interface import Subject
from swequarry.config import CurateSettings
from swequarry.outcome import RejectCode, Rejected

_WORD = re.compile(r"[^\W\d_]{2,}")
_CODE = re.compile(
    r"^(?:```|~~~).*?(?:^(?:```|~~~)[ \t]*$|\Z)|`[^`\n]+`|https?://\S+", re.MULTILINE | re.DOTALL
)
_FEWEST_LETTERS = 40
_LATIN_SHARE = 0.7
_FEWEST_WORDS = 30
"""Words from which a language can be told by its small words."""
_CLEARLY = 2
"""So many times as many small words of another language as English ones."""


def _small_words() -> Mapping[str, tuple[str, ...]]:
    """Return the languages that have a word."""
    data = yaml.safe_load(resources.files(__package__).joinpath("function_words.yaml").read_text("utf-8"))
    found: dict[str, tuple[str, ...]] = {}
    for language, words in data.items():
        for word in words.split():
            found[word] = (*found.get(word, ()), language)
    return found


_SMALL_WORDS = _small_words()


@lru_cache(maxsize=4)
def _prose(text: str) -> str:
    """Return a text without code and links; several rules ask for that of one statement."""
    return _CODE.sub(" ", text)


def short_statement(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement of few words, code left out: nobody can know from it what to do."""
    count = len(_WORD.findall(_prose(subject.candidate.statement.text)))
    if count >= settings.min_statement_words:
        return None
    return Rejected(
        code=RejectCode.SHORT_STATEMENT,
        message=f"the statement has {count} words, fewer than {settings.min_statement_words}",
        evidence=(subject.candidate.statement.text[:200],),
    )


def long_statement(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement of very many words: mostly a log or a discussion of several things."""
    count = len(_WORD.findall(subject.candidate.statement.text))
    if settings.max_statement_words is None or count <= settings.max_statement_words:
        return None
    return Rejected(
        code=RejectCode.LONG_STATEMENT,
        message=f"the statement has {count} words, more than {settings.max_statement_words}",
        evidence=(subject.candidate.statement.text[:200],),
    )


def other_script(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement that is mostly written in another script than the Latin one."""
    if not settings.latin_script_only or subject.candidate.statement.text.isascii():
        return None
    letters = [c for c in _prose(subject.candidate.statement.text) if c.isalpha()]
    latin = sum(c.isascii() or unicodedata.name(c, "").startswith("LATIN") for c in letters)
    if len(letters) < _FEWEST_LETTERS or latin >= _LATIN_SHARE * len(letters):
        return None
    return Rejected(
        code=RejectCode.OTHER_SCRIPT,
        message=f"{latin / len(letters):.0%} of the letters are Latin, fewer than {_LATIN_SHARE:.0%}",
        evidence=(subject.candidate.statement.text[:200],),
    )


def other_language(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop a statement in another language than English, told by its small words (`function_words.yaml`)."""
    if not settings.english_only:
        return None
    words = _WORD.findall(_prose(subject.candidate.statement.text).lower())
    counts = Counter(language for word in words for language in _SMALL_WORDS.get(word, ()))
    english = counts.pop("English", 0)
    language = max(counts, key=lambda name: (counts[name], name), default="")
    if len(words) < _FEWEST_WORDS or counts[language] < _CLEARLY * max(english, 1):
        return None
    return Rejected(
        code=RejectCode.OTHER_LANGUAGE,
        message=f"it is in {language}: {counts[language]} of its small words, and {english} English ones",
        evidence=(subject.candidate.statement.text[:200],),
    )

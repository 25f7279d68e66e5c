"""A statement rewritten by a language model, and the rules that decide whether the rewriting may be used.

The rules need no model: nothing that the issue shows may be lost, nothing that only the fix has may come in
but what the interface block tells, and the length stays within bounds. What breaks one is dropped.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from swequarry.config import LlmSettings
from swequarry.git.patches import parse_patch
from testwriter.interface import Subject
from testwriter.model.asking import Asker
from testwriter.model.prompts import load_prompt
from testwriter.writers.markdown import read_issue

_BLOCK = re.compile(
    r"\A\s*(`{3,}|~{3,})[ \t]*(?:markdown|md|text)?[ \t]*\n(.*)\n\1\s*\Z", re.DOTALL | re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d]\w{2,}")
_SHORTEST_LINE = 12
"""Shorter lines of a fix are what every program has."""
_LONGEST_SHARE: Final = 3
_ROOM_CHARS: Final = 1_000


class Objection(StrEnum):
    """Why a rewriting isn't used."""

    NO_BLOCK = "no_block"
    CUT_OFF = "cut_off"
    TOO_LONG = "too_long"
    CODE_LOST = "code_lost"
    INTERFACE_LOST = "interface_lost"
    SHOWS_THE_FIX = "shows_the_fix"
    NEW_NAMES = "new_names"


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A statement that was rewritten, with the line that names the prompt and the model."""

    text: str
    made_by: str


def rewrite_statement(
    subject: Subject, block: str, asker: Asker, settings: LlmSettings
) -> Rewriting | tuple[str, ...]:
    """Return a rewritten statement that tells an interface block too, or the objections to what was written.

    The model sees the issue and the block alone. An empty tuple: there was no budget, or the server refused.

    Raises:
        ModelUnavailableError: the server gives no answers.
    """
    issue = f"{subject.title}\n\n{subject.statement}".strip()
    if len(issue) > settings.context_chars:
        return (Objection.TOO_LONG.value,)
    prompt = load_prompt("statement")
    answer = asker.ask(prompt.name, prompt.filled(issue=issue, block=block))
    if answer is None or answer.refused:
        return ()
    match = _BLOCK.match(answer.text.replace("\r\n", "\n"))
    if answer.cut_off or match is None:
        return ((Objection.CUT_OFF if answer.cut_off else Objection.NO_BLOCK).value,)
    text = match.group(2).strip() + "\n"
    objections = tuple(one.value for one in objections_to(text, issue, block, subject.gold_patch or ""))
    made_by = f"{prompt.name.name} {prompt.name.version} {prompt.name.sha256[:16]}, {asker.parameters.model}"
    return objections or Rewriting(text, made_by)


def objections_to(text: str, issue: str, block: str, gold_patch: str) -> list[Objection]:
    """Return the rules that a rewritten statement breaks.

    Raises:
        PatchError: the gold patch isn't one.
    """
    found = []
    if len(text) > _LONGEST_SHARE * len(issue) + len(block) + _ROOM_CHARS:
        found.append(Objection.TOO_LONG)
    plain = _plain(text)
    shown = read_issue(issue)
    kept = [one.text for one in shown.blocks] + [span.code for span in shown.spans]
    if any(_plain(one) not in plain for one in kept):
        found.append(Objection.CODE_LOST)
    if any(_plain(line) not in plain for line in block.splitlines() if line.startswith("- ")):
        found.append(Objection.INTERFACE_LOST)
    known = _plain(f"{issue}\n{block}")
    added = _added_lines(gold_patch)
    if any(line in plain and line not in known for line in added):
        found.append(Objection.SHOWS_THE_FIX)
    words = frozenset(_WORD.findall(" ".join(added))) - frozenset(_WORD.findall(known))
    code = frozenset(word for word in words if "_" in word or not word.islower())
    if code & frozenset(_WORD.findall(plain)):
        found.append(Objection.NEW_NAMES)
    return found


def _plain(text: str) -> str:
    return " ".join(text.split())


def _added_lines(gold_patch: str) -> list[str]:
    files = parse_patch(gold_patch.encode("utf-8", "replace"))
    lines = (line for file in files for hunk in file.hunks for line in hunk.lines if line.startswith(b"+"))
    found = [_plain(line[1:].decode("utf-8", "replace")) for line in lines]
    return [line for line in found if len(line) >= _SHORTEST_LINE]

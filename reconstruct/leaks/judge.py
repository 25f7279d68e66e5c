"""Decides whether a text gives the answer away. One common line in a library is no leak.

A leak needs several lines of the answer in one file, or a block of it by its n-grams, or, where the answer
has only a line or two, all of them and long. Byte code has no lines: there it needs names that only the
answer brings. The numbers were set on real patches and the environments of their tasks, none of which may
be found, and on planted copies, all of which must.
"""

from collections.abc import Iterable

from reconstruct.leaks.answer import Answer
from reconstruct.leaks.views import View
from swequarry.records import LeakFinding
from swequarry.text.containment import containment
from swequarry.text.hashes import grams_of

SHARE = 0.5
"""Share of a block's n-grams that must be in one file."""
FEW = 3
"""Lines of the answer that one file must have, where the answer has that many."""
_PART = 0.1
_MANY = 10
"""Of a long answer a file must have a tenth of the lines, or this many."""
_LONG_ENOUGH = 40
"""Bytes that all lines of a short answer must have together, and none may be shorter than half."""
_SHOWN = 3
LARGEST_GRAMS = 4 << 20
"""Bytes of a text whose n-grams are compared."""


def examine(
    view: View, answer: Answer, *, own_module: bool = False, blocks_too: bool = True
) -> LeakFinding | None:
    """Return what a text gives away; `own_module` for byte code named as a module of the answer.

    Without `blocks_too` n-grams are compared only where a line of the answer was found.
    """
    if view.data is None:
        return None
    found = _lines_in(view.data, answer)
    for kind, lines in sorted(answer.lines.items()):
        both = sorted(lines & found)
        if enough_lines(both, len(lines)):
            return LeakFinding(path=view.path, kind=kind, evidence=_told(both, len(lines), "lines"))
    if view.is_code:
        return _names(view, answer, own_module=own_module)
    return _blocks(view, answer) if blocks_too or found else None


def _lines_in(data: bytes, answer: Answer) -> frozenset[bytes]:
    """Return the answer's lines that a text has; most have none, and to learn that is the fast part."""
    if answer.all_lines.isdisjoint(map(bytes.strip, data.split(b"\n"))):
        return frozenset()
    return answer.all_lines.intersection(map(bytes.strip, data.split(b"\n")))


def enough_lines(found: list[bytes], of: int) -> bool:
    """Whether some lines of an answer's `of` give it away."""
    if of >= FEW:
        return len(found) >= max(FEW, min(_MANY, _PART * of))
    return bool(found) and len(found) == of and sum(map(len, found)) >= _LONG_ENOUGH


def _names(view: View, answer: Answer, *, own_module: bool) -> LeakFinding | None:
    strings = set((view.data or b"").split(b"\n"))
    for kind, words in sorted(answer.words.items()):
        both = sorted(words & strings)
        needed = 1 if own_module else max(FEW, len(words) / 2)
        if len(both) >= needed:
            return LeakFinding(path=view.path, kind=kind, evidence=_told(both, len(words), "names"))
    return None


def _blocks(view: View, answer: Answer) -> LeakFinding | None:
    data = view.data or b""
    if not answer.blocks or len(data) > LARGEST_GRAMS:
        return None
    grams = grams_of(data)
    grams = grams[answer.grams.places(grams)[0]]
    if not grams.size:
        return None
    for block in answer.blocks:
        share = containment(block.grams, grams)
        if share >= SHARE:
            told = f"{share:.0%} of the n-grams that are added to {block.path}"
            return LeakFinding(path=view.path, kind=block.kind, evidence=(told,))
    return None


def _told(found: Iterable[bytes], of: int, what: str) -> tuple[str, ...]:
    shown = sorted(found)
    texts = [line.decode("utf-8", "replace")[:120] for line in sorted(shown, key=len, reverse=True)[:_SHOWN]]
    return (f"{len(shown)} of {of} {what}", *texts)

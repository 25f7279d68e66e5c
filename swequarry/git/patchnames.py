"""File names in patch headers, read as `git apply -p1` reads them (git's `apply.c`)."""

from swequarry.errors import PatchError
from swequarry.git.paths import unquote_path

_BLANK = ord(" ")


def plain_name(text: bytes, *, ends_at_tab: bool) -> bytes:
    """Return a name as it stands in a header line: C-quoted, else raw up to the tab before a time.

    Raises:
        PatchError: a quoted name doesn't end.
    """
    if text.startswith(b'"'):
        return unquote_path(text)[0]
    return text.partition(b"\t")[0] if ends_at_tab else text


def strip_first(name: bytes) -> bytes:
    """Return a name without its first folder, the `a/` or `b/` of a diff.

    Raises:
        PatchError: it has no first folder.
    """
    _, _, rest = name.partition(b"/")
    if not rest:
        raise PatchError(f"the name {name[:80]!r} has no a/ or b/ before it")
    return rest


def header_names(text: bytes) -> tuple[bytes | None, bytes | None]:
    """Return both names of a `diff --git` line, without a/ and b/; None, None where they can't be told.

    Names with blanks aren't quoted, so a line of two raw names is told apart only where they are equal.
    That is enough: where they differ, git writes `rename` or `copy` lines.
    """
    for old, new in _divisions(text):
        stripped = old.partition(b"/")[2], new.partition(b"/")[2]
        if stripped[0] and stripped[0] == stripped[1]:
            return stripped
    return None, None


def _divisions(text: bytes) -> list[tuple[bytes, bytes]]:
    if text.startswith(b'"'):
        old, rest = unquote_path(text)
        rest = rest.removeprefix(b" ")
        return [(old, unquote_path(rest)[0] if rest.startswith(b'"') else rest)]
    if text.endswith(b'"') and b' "' in text:
        old, _, new = text.partition(b' "')
        return [(old, unquote_path(b'"' + new)[0])]
    spaces = [at for at, byte in enumerate(text) if byte == _BLANK]
    spaces.sort(key=lambda at: abs(2 * at + 1 - len(text)))
    return [(text[:at], text[at + 1 :]) for at in spaces]

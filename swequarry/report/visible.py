"""Foreign text made safe to look at: what would be invisible or would reorder the page becomes a sign.

Control characters are written with a caret (ESC is `^[`), other invisible ones as their code point in angle
brackets (`<U+202E>`); both need no glyph beyond ASCII. Escaping for HTML is a separate step, done by whoever
puts the text into a page.
"""

_INVISIBLE = (
    *range(0x80, 0xA0),
    0xAD,
    0x61C,
    0x180E,
    0x200B,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xD800, 0xE000),
    *range(0xE0000, 0xE0080),
)
_KEPT = {0x09, 0x0A}
_DELETE = 0x7F
_SIGNS = {code: f"<U+{code:04X}>" for code in _INVISIBLE}
_SIGNS |= {code: "^" + chr(code ^ 0x40) for code in (*range(0x20), _DELETE) if code not in _KEPT}


def visible(text: str) -> str:
    """Return text in which every character shows; tabs and newlines stay."""
    return text.translate(_SIGNS)


def visible_prose(text: str) -> str:
    """Return `visible` text of a statement; line ends of any kind become newlines."""
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def visible_bytes(data: bytes) -> str:
    """Return bytes as `visible` text; those that aren't UTF-8 become backslash escapes."""
    return visible(data.decode("utf-8", "backslashreplace"))


def cut(text: str, limit: int) -> tuple[str, int]:
    """Return text of at most `limit` characters, cut at a line end if one is near, and how many are gone."""
    if len(text) <= limit:
        return text, 0
    end = text.rfind("\n", limit // 2, limit) + 1 or limit
    return text[:end], len(text) - end

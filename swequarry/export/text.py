"""Text as the files of every format hold it."""


def visible_text(text: str) -> str:
    """Return text that UTF-8 can hold: lone surrogates become visible escapes, the rest stays."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

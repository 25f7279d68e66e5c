"""An answer for tests of the leak audit: a fix of one function and two tests; and files to look through."""

from pathlib import Path

from reconstruct.leaks.answer import Answer, Novelty, read_answer
from reconstruct.leaks.places import task_names
from swequarry.sandbox.visible import VisibleFile

BASE = b'''\
"""Amounts."""


def parse_amount(text):
    """Return cents."""
    whole, _, cents = text.partition(".")
    return int(whole) * 100 + int(cents)
'''
FIXED = b'''\
"""Amounts."""


def parse_amount(text):
    """Return cents."""
    negative = text.lstrip().startswith("-")
    whole, _, cents = text.strip().lstrip("-").partition(".")
    thousands_removed = whole.replace(",", "")
    total_cents = int(thousands_removed) * 100 + int((cents + "00")[:2])
    return -total_cents if negative else total_cents
'''
TEST = b"""\
from tally.amounts import parse_amount


def test_negative_amount_keeps_its_sign():
    assert parse_amount("-12.5") == -1250


def test_thousands_are_read_whole():
    assert parse_amount("1,234.56") == 123456
"""


def patch(path: str, new: bytes, old: bytes = b"") -> bytes:
    """Return a patch that replaces a file whole."""
    gone, come = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    hunk = f"@@ -{1 if gone else 0},{len(gone)} +1,{len(come)} @@\n"
    return (
        (head + hunk).encode()
        + b"".join(b"-" + line for line in gone)
        + b"".join(b"+" + line for line in come)
    )


GOLD_PATCH = patch("src/tally/amounts.py", FIXED, BASE)
TEST_PATCH = patch("tests/test_signs.py", TEST)
NAMES = task_names("acme__tally-17", "acme/tally", 17)


def make_answer() -> Answer:
    """Return what fix and tests bring beside the base."""
    novelty = Novelty(read_answer((("gold", GOLD_PATCH), ("tests", TEST_PATCH)), names=NAMES))
    novelty.see(BASE)
    return novelty.rest()


def visible(place: Path, path: str) -> VisibleFile:
    """Return a file of the host as one that is seen inside."""
    status = place.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    return VisibleFile(path, str(place).encode(), identity)


def stored(folder: Path, name: str, data: bytes) -> VisibleFile:
    """Write a file that is seen as `/opt/NAME`."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return visible(folder / name, f"/opt/{name}")

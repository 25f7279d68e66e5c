"""The merged pull requests of the example repository and the issues they resolve."""

from swequarry.outcome import RejectCode
from swequarry.pipeline.demo.story import (
    AMOUNTS,
    LABELS,
    REMOTE,
    START,
    STORE,
    TABLE,
    WINDOWS,
    Expected,
    Issue,
    Pull,
)
from swequarry.records import MergeKind


def _swap(text: bytes, old: bytes, new: bytes) -> bytes:
    if text.count(old) != 1:
        raise ValueError(f"{old!r} must occur once, occurs {text.count(old)} times")
    return text.replace(old, new)


TEST_AMOUNTS = START["tests/test_amounts.py"]
TEST_TABLE = START["tests/test_table.py"]
TEST_WORDS = START["tests/test_words.py"]

_amounts_1 = _swap(
    AMOUNTS,
    b"    return [each] * people\n",
    b"    odd = total - each * people\n    return [each + (place < odd) for place in range(people)]\n",
)
_test_amounts_1 = (
    TEST_AMOUNTS + b"\n\ndef test_share_keeps_every_cent():\n    assert share(100, 3) == [34, 33, 33]\n"
)
_table_2 = _swap(
    TABLE, b"    sizes = widths(rows)\n", b'    if not rows:\n        return ""\n    sizes = widths(rows)\n'
).replace(
    b"cell.ljust(size) for cell, size in zip(row, sizes)) for row in rows\n",
    b"cell.ljust(size) for cell, size in zip(row, sizes)).rstrip() for row in rows\n",
)
_test_table_2 = TEST_TABLE + (
    b'\n\n@pytest.mark.parametrize("cell", ["a b", "a - b", "PASSED x", "[z"])\n'
    b"def test_no_blanks_at_line_end(cell):\n"
    b'    assert render([[cell, "long one"], ["c", "d"]]).splitlines()[1].endswith("d")\n'
)
_test_table_2 = b"import pytest\n\n" + _test_table_2
_amounts_3a = _swap(
    _amounts_1, b"    whole, _, cents", b'    text = text.replace(",", "")\n    whole, _, cents'
)
_amounts_3b = _swap(_amounts_3a, b"int(cents or 0)", b"int(cents.ljust(2, b'0'.decode())[:2])").replace(
    b"b'0'.decode()", b'"0"'
)
_test_amounts_3 = _test_amounts_1 + (
    b'\n\ndef test_thousands():\n    assert parse_amount("1,200.00") == 120000\n'
    b'\n\ndef test_one_digit_of_cents():\n    assert parse_amount("12.5") == 1250\n'
)
_labels_4 = _swap(
    LABELS, b'    return text.lower().replace(" ", "-")\n', b'    return "-".join(text.lower().split())\n'
)
_test_labels_4 = (
    TEST_WORDS + b'\n\ndef test_slug_of_many_blanks():\n    assert slug("Two   Words") == "two-words"\n'
)
_store_5 = _swap(
    STORE,
    b"    return list(data[3:])\n",
    b"    if data[3] == 1:\n        return list(data[4:])\n"
    b'    return [int.from_bytes(data[at : at + 2], "big") for at in range(4, len(data), 2)]\n',
)
_test_store_5 = START["tests/test_store.py"] + (
    b'\n\ndef test_reads_wide_counts():\n    assert read_counts((DATA / "wide.tly").read_bytes()) == [2, 700]\n'
)
_windows_6 = _swap(WINDOWS, b'text.split("\\n")', b"text.splitlines()")
_test_windows_6 = b'from tally.windows import lines\r\n\r\n\r\ndef test_windows_line_ends():\r\n    assert lines("a\\r\\nb") == ["a", "b"]\r\n'
_labels_7 = _swap(_labels_4, b"text.lower().split()", b'text.lower().replace("\xc3\x9f", "ss").split()')
_labels_8 = _swap(
    _labels_7,
    b'    return list({word for word in text.split() if word.startswith("#")})\n',
    b'    return list({word for word in text.split() if word.startswith("#") and len(word) > 1})\n',
)
_test_tags_8 = (
    b"import pytest\n\nfrom tally.labels import tags\n\n\n"
    b'def test_bare_hash_is_no_tag():\n    assert tags("# #a") == ["#a"]\n\n\n'
    b'@pytest.mark.parametrize("word", "abcdefgh")\n'
    b"def test_tags_keep_their_order(word):\n"
    b'    assert tags(f"#{word}1 #{word}2") == [f"#{word}1", f"#{word}2"]\n'
)
_table_9 = _swap(_table_2, b"max(len(cell) for cell in column)", b"max(len(str(cell)) for cell in column)")
_labels_10 = _swap(_labels_8, b"    return text[:size]\n", b"    return str(text)[:size]\n")
_test_short_10 = b'from tally.labels import shorten\n\n\ndef test_shorten_keeps_short_text():\n    assert shorten("ab", 3) == "ab"\n'
_amounts_11 = _swap(
    _amounts_3b, b"    return int(part * 100 / total)\n", b"    return round(part * 100 / total)\n"
)
_test_percent_11 = (
    b"from tally.amounts import percent\n\n\ndef test_percent_rounds():\n    assert percent(2, 3) == 67\n"
)
_amounts_13 = _swap(
    _amounts_3b,
    b"    return int(part * 100 / total)\n",
    b"    if not total:\n        return 0\n    return round(part * 100 / total)\n",
)
_test_percent_13 = _test_percent_11 + b"\n\ndef test_percent_of_nothing():\n    assert percent(0, 0) == 0\n"
_remote_14 = _swap(REMOTE, b'name + ".rates"', b'name + ".rates.invalid"')
_test_remote_14 = (
    b'from tally.remote import rate_host\n\n\ndef test_rate_host_answers():\n    assert rate_host("euro")\n'
)
_labels_17 = _swap(
    _labels_10,
    b"    return str(text)[:size]\n",
    b'    text = str(text)\n    return text if len(text) <= size else text[: size - 1] + "~"\n',
)
_test_short_17 = (
    _test_short_10 + b'\n\ndef test_shorten_marks_the_cut():\n    assert shorten("abcdef", 4) == "abc~"\n'
)
_test_words_17 = _swap(_test_labels_4, b'shorten("abcdef", 3) == "abc"', b'shorten("abc", 3) == "abc"')
_totals_18 = (
    b'"""Totals over many amounts."""\n\nfrom tally.amounts import parse_amount\n\n\n'
    b'def total(texts):\n    """Return the sum in cents."""\n    return sum(parse_amount(text) for text in texts)\n'
)
_test_totals_18 = (
    b'from tally.totals import total\n\n\ndef test_total():\n    assert total(["1.00", "2.50"]) == 350\n'
)

_dates_19 = (
    b'"""Days on which something is due."""\n\n\n'
    b'def a_year_on(day):\n    """Return the same day of the next year."""\n'
    b"    return day.replace(year=day.year + 1)\n"
)
_test_dates_19 = (
    b"from datetime import date, timedelta\n\nfrom tally.dates import a_year_on\n\n\n"
    b"def test_a_year_on():\n    assert a_year_on(date(2024, 3, 4)) == date(2025, 3, 4)\n\n\n"
    b"def test_a_year_from_today():\n    today = date.today()\n"
    b"    assert a_year_on(today) - today >= timedelta(365)\n"
)
"""The second test is a time bomb: there is no 29 February a year after one. On that day itself it fails."""

M, S, R = MergeKind.MERGE, MergeKind.SQUASH, MergeKind.REBASE

PULLS: tuple[Pull, ...] = (
    Pull(
        number=1,
        title="Give away the odd cents when splitting",
        kind=M,
        body="Fixes #101",
        edits=({"src/tally/amounts.py": _amounts_1, "tests/test_amounts.py": _test_amounts_1},),
        expected=Expected(fail_to_pass=("tests/test_amounts.py::test_share_keeps_every_cent",)),
    ),
    Pull(
        number=2,
        title="No blanks at the end of table lines",
        kind=S,
        body="Closes #102",
        edits=({"src/tally/table.py": _table_2, "tests/test_table.py": _test_table_2},),
        expected=Expected(
            fail_to_pass=tuple(
                f"tests/test_table.py::test_no_blanks_at_line_end[{cell}]"
                for cell in ("PASSED x", "[z", "a - b", "a b")
            )
        ),
    ),
    Pull(
        number=3,
        title="Read thousands and single digits of cents",
        kind=R,
        body="Fixes #103",
        messages=("Allow commas between thousands\n\nFixes #103", "Read one digit of cents as tens"),
        edits=(
            {"src/tally/amounts.py": _amounts_3a},
            {"src/tally/amounts.py": _amounts_3b, "tests/test_amounts.py": _test_amounts_3},
        ),
        expected=Expected(
            fail_to_pass=(
                "tests/test_amounts.py::test_one_digit_of_cents",
                "tests/test_amounts.py::test_thousands",
            )
        ),
    ),
    Pull(
        number=4,
        title="One dash for many blanks",
        kind=S,
        body="Fixes #104. The tests move to the name of the module.",
        edits=(
            {
                "src/tally/labels.py": _labels_4,
                "tests/test_words.py": None,
                "tests/unit/test_labels.py": _test_labels_4,
            },
        ),
        expected=Expected(fail_to_pass=("tests/unit/test_labels.py::test_slug_of_many_blanks",)),
    ),
    Pull(
        number=5,
        title="Read tally files with wide counts",
        kind=M,
        body="Resolves #105",
        edits=(
            {
                "src/tally/store.py": _store_5,
                "tests/test_store.py": _test_store_5,
                "tests/data/wide.tly": b"TLY\x02\x00\x02\x02\xbc",
            },
        ),
        expected=Expected(fail_to_pass=("tests/test_store.py::test_reads_wide_counts",)),
    ),
    Pull(
        number=6,
        title="Split lines that end the Windows way",
        kind=S,
        body="Fixes #106",
        edits=({"src/tally/windows.py": _windows_6, "tests/test_windows.py": _test_windows_6},),
        expected=Expected(fail_to_pass=("tests/test_windows.py::test_windows_line_ends",)),
    ),
    Pull(
        number=7,
        title="Spell out the sharp s in labels",
        kind=M,
        body="Fixes #107",
        edits=(
            {
                "src/tally/labels.py": _labels_7,
                "tests/test_größe.py": "from tally.labels import slug\n\n\n"
                'def test_sharp_s():\n    assert slug("Große Zahl") == "grosse-zahl"\n'.encode(),
            },
        ),
        expected=Expected(fail_to_pass=("tests/test_größe.py::test_sharp_s",)),
    ),
    Pull(
        number=8,
        title="A bare hash is no tag",
        kind=S,
        body="Fixes #108",
        edits=({"src/tally/labels.py": _labels_8, "tests/test_tags.py": _test_tags_8},),
        expected=Expected(
            fail_to_pass=("tests/test_tags.py::test_bare_hash_is_no_tag",),
            quarantined="tests/test_tags.py::test_tags_keep_their_order",
        ),
    ),
    Pull(
        number=9,
        title="Measure cells that aren't text",
        kind=S,
        body="Fixes #109",
        edits=({"src/tally/table.py": _table_9},),
        expected=Expected(written=True),
    ),
    Pull(
        number=10,
        title="Shorten anything",
        kind=S,
        body="Fixes #110",
        edits=({"src/tally/labels.py": _labels_10, "tests/test_shorten.py": _test_short_10},),
        expected=Expected(code=RejectCode.NO_FAIL_TO_PASS),
    ),
    Pull(
        number=11,
        title="Round percentages",
        kind=S,
        body="Fixes #111",
        edits=({"src/tally/amounts.py": _amounts_11, "tests/test_percent.py": _test_percent_11},),
        expected=Expected(code=RejectCode.REVERTED),
    ),
    Pull(
        number=12,
        title='Revert "Round percentages (#11)"',
        kind=S,
        edits=({"src/tally/amounts.py": _amounts_3b, "tests/test_percent.py": None},),
        reverts=11,
        expected=Expected(code=RejectCode.NO_TESTS_FOUND),
    ),
    Pull(
        number=13,
        title="Round percentages, also of nothing",
        kind=M,
        body="Fixes #111, second try.",
        edits=({"src/tally/amounts.py": _amounts_13, "tests/test_percent.py": _test_percent_13},),
        expected=Expected(
            fail_to_pass=(
                "tests/test_percent.py::test_percent_of_nothing",
                "tests/test_percent.py::test_percent_rounds",
            )
        ),
    ),
    Pull(
        number=14,
        title="Ask the new rate servers",
        kind=S,
        body="Fixes #114",
        edits=({"src/tally/remote.py": _remote_14, "tests/test_remote.py": _test_remote_14},),
        expected=Expected(code=RejectCode.NEEDS_NETWORK),
    ),
    Pull(
        number=15,
        title="Say how to install",
        kind=M,
        edits=({"README.md": START["README.md"] + b"\nInstall it with pip.\n"},),
        expected=Expected(code=RejectCode.NO_SOURCE_CHANGE),
    ),
    Pull(
        number=16,
        title="Test negative percentages",
        kind=S,
        edits=(
            {
                "tests/test_percent.py": _test_percent_13
                + b"\n\ndef test_percent_below_zero():\n    assert percent(-1, 2) == -50\n"
            },
        ),
        expected=Expected(code=RejectCode.NO_SOURCE_CHANGE),
    ),
    Pull(
        number=17,
        title="Mark where a text was cut",
        kind=S,
        body="Readers couldn't see that a label had been cut. A tilde now stands where text is missing.",
        edits=(
            {
                "src/tally/labels.py": _labels_17,
                "tests/test_shorten.py": _test_short_17,
                "tests/unit/test_labels.py": _test_words_17,
            },
        ),
        expected=Expected(fail_to_pass=("tests/test_shorten.py::test_shorten_marks_the_cut",)),
    ),
    Pull(
        number=18,
        title="Totals over many amounts",
        kind=M,
        body="Closes #118",
        edits=({"src/tally/totals.py": _totals_18, "tests/test_totals.py": _test_totals_18},),
        expected=Expected(fail_to_pass=("tests/test_totals.py::test_total",)),
    ),
    Pull(
        number=19,
        title="Say when something is due again",
        kind=S,
        body="Fixes #119",
        edits=({"src/tally/dates.py": _dates_19, "tests/test_dates.py": _test_dates_19},),
        expected=Expected(
            fail_to_pass=("tests/test_dates.py::test_a_year_on",),
            quarantined="tests/test_dates.py::test_a_year_from_today",
            reason="time",
        ),
    ),
)

ISSUES: tuple[Issue, ...] = (
    Issue(
        number=101,
        title="Splitting a bill loses cents",
        body="`share(100, 3)` gives three times 33. One cent is gone. The first people on the list should get the odd cents.",
    ),
    Issue(
        number=102,
        title="Table lines end in blanks",
        body="`render` pads the last column too, so every short line ends in blanks and our diffs are full of them. "
        "The end of a line should carry no blanks.",
    ),
    Issue(
        number=103,
        title="Amounts such as 1,200.00 and 12.5 are misread",
        body='`parse_amount("1,200.00")` raises ValueError, and `parse_amount("12.5")` gives 1205 instead of 1250.',
    ),
    Issue(
        number=104,
        title="Slugs with several dashes",
        body='`slug("Two   Words")` gives `two---words`; one dash would be right however many blanks there are.',
    ),
    Issue(
        number=105,
        title="Version 2 tally files are read as garbage",
        body="In version 2 files each count takes two bytes, most significant first. `read_counts` must look at the "
        "version byte after `TLY`: 1 means one byte per count, 2 means two. The version byte itself is no count.",
    ),
    Issue(
        number=106,
        title="Price lists from Windows keep a stray character",
        body="Lines of a file with Windows line ends come back with a carriage return at the end.",
    ),
    Issue(number=107, title="Labels with a sharp s", body='`slug("Große Zahl")` should be `grosse-zahl`.'),
    Issue(
        number=108,
        title="A lone # counts as a tag",
        body='`tags("# #a")` returns `#` among the tags. Only `#a` is one.',
    ),
    Issue(number=109, title="Tables of numbers fail", body="`widths([[1, 2]])` raises TypeError."),
    Issue(number=110, title="Shorten numbers", body="`shorten(12345, 2)` should work as for text."),
    Issue(
        number=111,
        title="Two thirds are 66 %",
        body="`percent(2, 3)` should round to 67, and `percent(0, 0)` should be 0 instead of an error.",
    ),
    Issue(number=114, title="Rate servers moved", body="They now answer below `rates.invalid`."),
    Issue(
        number=118,
        title="Add up many amounts",
        body='We need `tally.totals.total(["1.00", "2.50"])`, which returns the sum in cents (350).',
    ),
    Issue(
        number=119,
        title="Yearly fees",
        body="We need `tally.dates.a_year_on(day)`: the same day of the next year, 4 March 2025 after 4 March 2024.",
    ),
)

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testwriter.model.answers import MAX_FILE_BYTES, SAID, Fault, read_test_file

GOOD = "from cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
FENCED = f"```python\n{GOOD}```"


@pytest.mark.parametrize(
    "answer",
    [
        FENCED,
        GOOD,
        f"Here is the file:\n\n{FENCED}\n\nIt fails because of the bug.",
        FENCED.replace("\n", "\r\n"),
        f"<think>\n```python\nx = 1\n```\nno, better</think>\n{FENCED}",
        f"~~~py\n{GOOD}~~~",
        f"````\n{GOOD}````",
        f"```Python title=test_x.py\n{GOOD}```",
    ],
)
def test_the_one_file_is_found_whatever_stands_around_it(answer):
    assert read_test_file(answer) == GOOD


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("", Fault.EMPTY),
        (" \n\t", Fault.EMPTY),
        ("<think>hm", Fault.EMPTY),
        ("I can't help with that, sorry.", Fault.NO_FILE),
        (f"```bash\n{GOOD}```", Fault.NO_FILE),
        (f"{FENCED}\n\n{FENCED}", Fault.SEVERAL_FILES),
        (f"{FENCED}\n```bash\nrm -rf /\n```", Fault.SEVERAL_FILES),
        (f"```python\n{GOOD}", Fault.CUT_OFF),
        ("```python\ndef test_x(:\n```", Fault.NOT_PYTHON),
        ("```python\nx = 1\n```", Fault.NO_TEST),
        ("```python\n# def test_x(): pass\nx = 'def test_y(): pass'\n```", Fault.NO_TEST),
        (f"```python\n{GOOD}#\x00\n```", Fault.ODD_CHARACTERS),
        (f"```python\n{GOOD}# \u202e reversed\n```", Fault.ODD_CHARACTERS),
        (f"```python\n{GOOD}# \ud800\n```", Fault.ODD_CHARACTERS),
        (f"```python\n{GOOD}# {'x' * MAX_FILE_BYTES}\n```", Fault.TOO_LARGE),
        ("```python\n" + "(" * 20_000 + "```", Fault.CUT_OFF),
        ("```python\n" + "(" * 20_000 + "\n```", Fault.NOT_PYTHON),
        ("```python\ndef test_deep():\n    x = " + "-" * 20_000 + "1\n```", None),
    ],
)
def test_what_is_not_one_test_file_never_becomes_one(answer, fault):
    found = read_test_file(answer)
    assert found == fault if fault else isinstance(found, str)


def test_a_file_that_happens_to_parse_is_refused_when_the_answer_was_cut_off():
    assert read_test_file(FENCED, cut_off=True) is Fault.CUT_OFF
    assert read_test_file("", cut_off=True) is Fault.CUT_OFF


def test_every_fault_can_be_told_to_a_model():
    assert set(SAID) == set(Fault)


@given(st.text())
def test_any_answer_gives_a_bounded_file_or_a_fault(answer):
    found = read_test_file(answer)
    if not isinstance(found, Fault):
        assert len(found.encode()) <= MAX_FILE_BYTES
        assert "\r" not in found
        assert found.endswith("\n")
        assert "def test" in found


prose = st.text(st.characters(exclude_characters="`~<\r", exclude_categories=("Cs", "Cc"))).map(
    lambda words: words.replace("\n", " ")
)
names = st.from_regex(r"test_[a-z]{1,8}", fullmatch=True)
bodies = st.lists(
    st.sampled_from(["x = 1", "assert x", "'```'", "# ~~~", '"""\n    deep\n    """']), max_size=5
)


@given(prose, names, bodies, prose, st.sampled_from(["```", "````", "~~~"]), st.booleans())
def test_a_fenced_file_comes_out_as_it_was_written(before, name, body, after, fence, windows):
    source = f"def {name}():\n    x = 2\n" + "".join(f"    {line}\n" for line in body)
    answer = f"{before}\n{fence}python\n{source}{fence}\n{after}"
    found = read_test_file(answer.replace("\n", "\r\n") if windows else answer)
    assert found == source
    ast.parse(found)


@given(names, st.integers(0, 200))
def test_no_prefix_of_an_answer_is_taken_for_the_whole(name, length):
    answer = f"```python\ndef {name}():\n    assert 1 == 2\n    assert 3 == 4\n```"
    found = read_test_file(answer[:length])
    if length < len(answer):
        assert isinstance(found, Fault)

"""Canaries and twins as text: what they change, and that every other byte stays."""

from textwrap import dedent

import pytest

from swequarry.records import TestId
from swequarry.verify.canaries import Way, canary, ways
from swequarry.verify.testsource import TestSource, another, file_of, function_name
from swequarry.verify.twins import probe, raising_inputs, renamed, sites, told_value, twin, unlike


def source(text: str) -> TestSource:
    made = TestSource.parse(dedent(text).lstrip("\n").encode())
    assert made is not None
    return made


def wrong(text: str, way: Way | None = None) -> str:
    made = source(text)
    offered = ways(made, "test_x")
    data = canary(made, {"test_x": way or offered[0]})
    assert data is not None
    return data.decode()


@pytest.mark.parametrize(
    "statement, becomes",
    [
        ("assert f(1) == 5", "assert f(1) == 6"),
        ("assert 5 == f(1)", "assert 6 == f(1)"),
        ('assert f() == "é a"', 'assert f() == "é b"'),
        ('assert f() == {"a": b"", "b": "x\\ty"}', 'assert f() == {"b": b"", "b": "x\\ty"}'),
        ('assert f() == ("x1"\n    "y-")', 'assert f() == ("x1"\n    "z-")'),
        ("assert f() == [1, 2]", "assert f() == [3, 2]"),
        ("assert f() == g()", "assert f() == (g(), None)"),
        ("assert f() == None", "assert f() == (None, None)"),
        ("assert f() == 2 and g() == 3, 'why'", "assert f() == 3 and g() == 4, 'why'"),
        ("self.assertEqual(f(), 2)", "self.assertEqual(f(), 3)"),
        ("assert_allclose(f(), x, rtol=1)", "assert_allclose(f(), (x, None), rtol=1)"),
        ("assert f() == pytest.approx(2.0, abs=1)", "assert f() == (pytest.approx(2.0, abs=1), None)"),
        ("assert approx(f()) == 2.0", "assert approx(f()) == (2.0, None)"),
        ("self.assertAlmostEqual(f(), 2.5)", "self.assertAlmostEqual(f(), (2.5, None))"),
        ("self.assertGreater(f(), 3)", "self.assertGreater(f(), (3, None))"),
        ("assert f() in g()", "assert f() not in g()"),
        ("assert f() < 3", "assert f() >= 3"),
        ("assert not f()", "assert f()"),
        ("assert f().x", "assert not f().x"),
        ("assert f() or g()", "assert not (f() or g())"),
        ("self.assertTrue(f())", "self.assertFalse(f())"),
        ("self.assertIsNone(f())", "self.assertIsNotNone(f())"),
        ("pytest.raises(E, f)", "pytest.raises(EOFError, f)"),
        ("pytest.raises(Exception, f)", "pytest.raises(TabError, f)"),
        ("pytest.raises(KeyError, f)", "pytest.raises(TypeError, f)"),
        ("pytest.raises((ValueError, OSError), f)", "pytest.raises(TypeError, f)"),
    ],
)
def test_an_expectation_becomes_one_that_right_code_does_not_meet(statement: str, becomes: str) -> None:
    assert (
        wrong(f"def test_x(self):\n    f()\n    {statement}\n")
        == f"def test_x(self):\n    f()\n    {becomes}\n"
    )


@pytest.mark.parametrize(
    "text, end",
    [
        ("def test_x():\n    run(1)\n", "def test_x():\n    run(1)\n    assert False\n"),
        ("def test_x(): run(1)\n", "def test_x(): run(1); assert False\n"),
        (
            "class T:\n\tdef test_x(self):\n\t\trun(1)\n",
            "class T:\n\tdef test_x(self):\n\t\trun(1)\n\t\tassert False\n",
        ),
    ],
)
def test_a_test_without_expectations_gets_one_at_its_end(text: str, end: str) -> None:
    assert wrong(text) == end


def test_equality_is_made_wrong_alone_where_other_ways_stand_beside_it() -> None:
    made = wrong("def test_x():\n    assert f()\n    assert f() == 2\n")
    assert made == "def test_x():\n    assert f()\n    assert f() == 3\n"


def ran(text: str, **names: object) -> bool:
    """Whether `test_x` of a text passes."""
    space = dict(names)
    exec(compile(text, "x", "exec"), space)
    try:
        space["test_x"]()  # type: ignore[operator]
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("statement", ["assert part == 1", "assert part in [1, 2]", "check(part == 1)"])
def test_a_canary_that_is_not_reached_is_not_passed(statement: str) -> None:
    class AlwaysEqual:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    def check(holds: object) -> None:
        assert holds

    text = f"def test_x():\n    for part in parts():\n        {statement}\n"
    assert ran(text, parts=list, check=check)
    assert ran(text, parts=lambda: [1], check=check)
    assert not ran(wrong(text), parts=list, check=check)
    assert not ran(wrong(text), parts=lambda: [1], check=check)
    cheat = ran(wrong(text), parts=lambda: [AlwaysEqual()], check=check)
    assert cheat is (statement == "assert part == 1")


def test_wrong_and_right_twin_look_alike() -> None:
    for value in (0, 1, 5, -3, 2.5, -1.0, -1.2, "ab", True, [7], {"a": 1}):
        up, down = unlike(value), unlike(value, up=False)
        assert up != value
        assert down != value
        if not isinstance(value, bool | float):
            assert unlike(up, up=False) == value == unlike(down)


def test_other_tests_of_a_file_are_taken_away() -> None:
    made = source("""
        @mark
        def test_a(): pass

        @fixture
        def testfile(): pass

        def helper(testfile):
            def test_inner(): pass

        class TestX:
            @mark
            def test_b(self):
                pass

            def test_x(self):
                pass
    """)
    data = made.edited(made.without_tests({"test_x"}))
    assert data is not None
    words = "pass @fixture def testfile(): pass def helper(testfile): def test_inner(): pass class TestX: pass def test_x(self): pass"
    assert " ".join(data.decode().split()) == words


def test_files_that_cannot_be_parsed_have_no_canary() -> None:
    assert TestSource.parse(b"print 'two'\n") is None
    assert TestSource.parse(b"x = '\xff'\n") is None


@pytest.mark.parametrize("value", [0, 1, 7, -1, -9, 0.0, 2.5, "abc", "2024-01-09", "z", "Z9"])
def test_another_value_is_of_the_same_kind_and_not_equal(value: object) -> None:
    new = another(value)
    assert type(new) is type(value)
    assert new != value
    assert unlike([value]) != [value]


@pytest.mark.parametrize("value", [True, None, "", "--", b"x", [1]])
def test_values_without_neighbours_are_left_alone(value: object) -> None:
    with pytest.raises(ValueError, match=r"neighbours|letters|plain"):
        another(value)


def test_inputs_change_where_the_assertion_gets_its_value_from() -> None:
    text = """
        def test_x(fix):
            a = make(3, name="ab")
            assert a.total == 9
            assert f([1, 2], True) == g(7)
    """
    first, second = sites(source(text), "test_x", 1)
    assert (first.value, [edit.text for edit in first.others]) == ("a.total", ["4", "'ac'"])
    assert (second.value, second.others) == ("f([3, 3], True)", ())


def test_inputs_of_what_must_raise_change_too() -> None:
    text = """
        def test_x():
            with pytest.raises(ValueError, match="bad"):
                f(g("ab", k=7), True)
            with open("name"):
                f("kept")
    """
    assert [edit.text for edit in raising_inputs(source(text), "test_x")] == ["'ac'", "8"]


def test_a_twin_wants_what_gold_gave_for_the_same_parameters() -> None:
    text = """
        @pytest.mark.parametrize("a, b", [(1, 2)])
        def test_x(fix, a, b):
            assert fix.f(a) == b
    """
    made = source(text)
    (site,) = sites(made, "test_x", 1)
    assert (site.value, site.key) == ("fix.f(_twin_other(a))", ("a",))
    asked = probe(made, [site])
    assert asked is not None
    assert b"    _twin_tell(fix.f(_twin_other(a)), a)\n" in asked
    twins = twin(made, [site], {"test_x": [((1,), "v")]})
    assert twins is not None
    assert b"_twin_check('test_x', fix.f(_twin_other(a)), a)\n" in twins
    assert b"{'test_x': [((1,), 'v')]}" in twins


def test_only_whole_plain_values_are_taken_from_a_probe() -> None:
    assert told_value("AssertionError: swequarry-value:((), 'a:.b'):.") == ((), "a:.b")
    assert told_value("AssertionError: swequarry-value:((), 'a ...") is None
    assert told_value("AssertionError: swequarry-value:((), nan):.") is None
    assert told_value("AssertionError: no plain value") is None


def test_ids_of_both_frameworks_name_function_and_file() -> None:
    pytest_id, unittest_id = TestId("a/test_b.py::C::test_x[1::2]"), TestId("test_x (a.test_b.C)")
    assert function_name(pytest_id) == function_name(unittest_id) == "test_x"
    paths = ["a/test_b.py", "test_c.py"]
    assert file_of(pytest_id, paths) == file_of(unittest_id, paths) == "a/test_b.py"
    assert renamed(pytest_id, "a/test_b.py", "a/test_9.py") == "a/test_9.py::C::test_x[1::2]"
    assert renamed(unittest_id, "a/test_b.py", "a/test_9.py") == "test_x (a.test_9.C)"

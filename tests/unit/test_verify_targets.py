"""Which files of a test patch are handed to the runner."""

import pytest
from verify_worlds import delta

from swequarry.delta import FileContent, TreeDelta
from swequarry.verify.targets import select_targets

TEST = "def test_x():\n    pass\n"


def chosen(files: dict[str, str], *more: str) -> tuple[str, ...]:
    return select_targets([*files, *more], delta(files))


@pytest.mark.parametrize(
    "name, content",
    [
        ("tests/test_a.py", TEST),
        ("tests/unittest_a.py", TEST),
        ("tests/a_test.py", "class Thing: pass"),
        ("pkg/tests.py", "import unittest\nclass Foo(unittest.TestCase): pass"),
        ("test/integration.py", "class TestFoo(object):\n  def test_a(self): pass"),
        ("tests/checks.py", "    async def test_it(self): pass"),
        ("tests/data/test_loader.py", TEST),
        ("tests/odd name é.py", TEST),
        ("tests/old.py", "def test_print():\n    print 'python 2'\n"),
    ],
)
def test_python_files_that_define_tests_are_run_whatever_their_name(name: str, content: str) -> None:
    assert chosen({name: content}) == (name,)


@pytest.mark.parametrize(
    "name, content",
    [
        ("tests/conftest.py", TEST),
        ("tests/__init__.py", TEST),
        ("tests/helpers.py", "def make(): pass"),
        ("tests/testdata/test_a.py", TEST),
        ("tests/fixtures/test_a.py", TEST),
        ("tests/data/module.py", TEST),
        ("tests/data.json", TEST),
        ("tests/test_a.pyc", TEST),
    ],
)
def test_support_files_and_data_are_not_run(name: str, content: str) -> None:
    assert chosen({name: content}) == ()


def test_deleted_files_and_links_are_left_out() -> None:
    link = TreeDelta(files={b"tests/test_l.py": FileContent(data=b"test_a.py", mode=0o120000)})
    assert chosen({"tests/test_a.py": TEST}, "tests/test_gone.py") == ("tests/test_a.py",)
    assert select_targets(["tests/test_l.py"], link) == ()


def test_path_that_is_no_utf8_is_found_by_its_bytes() -> None:
    before = TreeDelta(files={b"tests/test_\xff.py": FileContent(data=TEST.encode())})
    assert select_targets(['"tests/test_\\377.py"'], before) == ("tests/test_\udcff.py",)

"""Which test files are run beside those of the pull request."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verify_worlds import run

from swequarry.git.patches import parse_patch
from swequarry.records import TestId, TestOutcome, TestReport, TestResult
from swequarry.syntax.imports import attributes_of, imports_of
from swequarry.verify.modules import Modules
from swequarry.verify.mutation_diff import ChangedFile, readable_patch
from swequarry.verify.runner import RunResult
from swequarry.verify.scope import widened

TREE = {
    "src/pkg/__init__.py": "from .money import add\nfrom . import words\n",
    "src/pkg/money.py": "def add(a, b):\n    return a + b\n",
    "src/pkg/words.py": "def upper(text):\n    return text.upper()\n",
    "src/pkg/deep/__init__.py": "from pkg.money import add as plus\n",
    "tests/test_money.py": "from pkg.money import add\ndef test(): assert add(1, 2) == 3\n",
    "tests/test_words.py": "from pkg.words import upper\ndef test(): assert upper('a') == 'A'\n",
    "tests/test_name.py": "from pkg import add\ndef test(): pass\n",
    "tests/test_attribute.py": "import pkg as p\ndef test(): assert p.add\n",
    "tests/test_other_attribute.py": "import pkg\ndef test(): assert pkg.words\n",
    "tests/test_alias.py": "import pkg.money as m\ndef test(): m\n",
    "tests/test_through_two.py": "from pkg.deep import plus\ndef test(): plus\n",
    "tests/test_star.py": "from pkg.money import *\ndef test(): add\n",
    "tests/unit/__init__.py": "",
    "tests/unit/test_relative.py": "from .helpers import sums\ndef test(): sums\n",
    "tests/unit/helpers.py": "from pkg.money import add as sums\n",
    "tests/test_late.py": "def test():\n    from pkg import money\n",
    "tests/conftest.py": "from pkg.money import add\n",
    "tests/data/test_sample.txt": "from pkg.money import add\n",
    "docs/test_page.py": "from pkg.money import add\ndef test(): pass\n",
}
SOURCES = {path.encode(): text.encode() for path, text in TREE.items() if path.endswith(".py")}


@pytest.mark.parametrize(
    ("name", "related"),
    [
        ("test_money", True),
        ("test_words", False),
        ("test_name", True),
        ("test_attribute", True),
        ("test_other_attribute", False),
        ("test_alias", True),
        ("test_through_two", True),
        ("test_star", True),
        ("unit/test_relative", True),
        ("test_late", True),
    ],
)
def test_import_through_a_package_isnt_missed_and_a_neighbour_isnt_taken_for_it(name, related):
    modules = Modules(SOURCES)
    assert modules.reaches(f"tests/{name}.py".encode(), {b"src/pkg/money.py"}) is related


def test_package_that_imports_itself_in_a_circle_ends():
    circle = {
        b"a/__init__.py": b"from .b import *\n",
        b"a/b.py": b"from a import *\n",
        b"t.py": b"from a import x\n",
    }
    assert Modules(circle).reaches(b"t.py", {b"a/b.py"})


@given(st.text(max_size=200))
def test_any_text_has_imports_that_can_be_listed(text):
    assert isinstance(imports_of(text.encode("utf-8", "surrogatepass")), list)


def test_imports_of_every_form_are_read():
    source = b"import a.b as c, d\nimport x.y\nfrom . import z\nfrom ..k.m import n as o, p\nfrom q import *\nfrom r import (s,\n  t)\n"
    assert [(i.module, i.level, i.names, i.bound) for i in imports_of(source)] == [
        ("a.b", 0, (), "c"),
        ("d", 0, (), "d"),
        ("x.y", 0, (), "x"),
        ("", 1, (("z", "z"),), ""),
        ("k.m", 2, (("n", "o"), ("p", "p")), ""),
        ("q", 0, (("*", "*"),), ""),
        ("r", 0, (("s", "s"), ("t", "t")), ""),
    ]
    assert attributes_of(b"c.f(1); c.g.h; d.c.i", "c") == {"f", "g"}


def nothing_runs(paths: Sequence[str], _taps: object, _wall_s: float) -> RunResult:
    return RunResult(report=TestReport(framework="pytest"), passes=0)


NEW = b"def add(a, b):\n    return b + a\n"
OLD = SOURCES[b"src/pkg/money.py"]
CHANGED = (
    ChangedFile(
        path=b"src/pkg/money.py",
        old=OLD,
        new=NEW,
        hunks=parse_patch(readable_patch(b"src/pkg/money.py", OLD, NEW))[0].hunks,
    ),
)


def test_support_files_data_and_docs_are_in_no_scope():
    found = widened("related", ("tests/test_money.py",), SOURCES, CHANGED, nothing_runs, 60)
    assert found.name == "related"
    assert set(found.targets) == {
        f"tests/{n}.py"
        for n in (
            *("test_" + n for n in ("money", "name", "attribute", "alias", "through_two", "star", "late")),
            "unit/test_relative",
        )
    }


def test_file_that_runs_the_change_without_importing_it_is_related(tmp_path):  # B067
    files = {
        "lib.py": NEW.decode(),
        "hub.py": "import lib\ndef total(a, b): return lib.add(a, b)\n",
        "tests/test_a.py": "import sys; sys.path.insert(0, '.')\nimport lib\ndef test_a(): assert lib.add(1, 1)\n",
        "tests/test_b.py": "import sys; sys.path.insert(0, '.')\nimport hub\ndef test_b(): assert hub.total(1, 2) == 3\n",
        "tests/test_c.py": "import sys; sys.path.insert(0, '.')\nimport hub\ndef test_c(): assert hub\n",
    }
    changed = (
        ChangedFile(
            path=b"lib.py", old=OLD, new=NEW, hunks=parse_patch(readable_patch(b"lib.py", OLD, NEW))[0].hunks
        ),
    )

    def scout(paths, taps, _wall_s):
        return run(tmp_path, files, *paths, taps=taps)

    sources = {path.encode(): text.encode() for path, text in files.items()}
    found = widened("related", ("tests/test_a.py",), sources, changed, scout, 60)
    assert (found.targets, found.left_out) == (("tests/test_a.py", "tests/test_b.py"), 0)


def test_full_scope_says_how_many_files_its_budget_left_out():
    def scout(paths, _taps, _wall_s):
        fate = {"tests/test_words.py": TestOutcome.NOT_RUN, "tests/test_star.py": TestOutcome.FAILED}
        results = tuple(
            TestResult(id=TestId(f"{path}::test"), outcome=fate.get(path, TestOutcome.PASSED))
            for path in paths
        )
        return RunResult(report=TestReport(framework="pytest", results=results))

    found = widened("full", ("tests/test_money.py",), SOURCES, CHANGED, scout, 60)
    assert found.left_out == 1
    assert "tests/unit/test_relative.py" in found.targets
    assert not {"tests/test_words.py", "tests/test_star.py", "docs/test_page.py"} & set(found.targets)
    nothing = widened("full", ("tests/test_money.py",), SOURCES, CHANGED, scout, 0)
    assert (nothing.targets, nothing.left_out) == (("tests/test_money.py",), 9)

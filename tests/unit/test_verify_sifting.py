"""What crosses over from a candidate into the graded run, decided by path and kind alone."""

import pytest

from swequarry.delta import FileContent, TreeDelta
from swequarry.git.trees import ChangedPath
from swequarry.verify.candidate import overlaid
from swequarry.verify.pytestconfig import same_settings, with_settings_of
from swequarry.verify.sifting import Fate, Ground, Sieve

BASE = (
    "setup.cfg", "pkg/__init__.py", "pkg/mod.py", "pkg/test/__init__.py", "pkg/test/client.py",
    "tests/__init__.py", "tests/conftest.py", "tests/test_a.py", "scripts/run.py", "attr/data.txt", "random.py",
)  # fmt: skip


def change(path: str, *, mode: int = 0o100644, deleted: bool = False, known: bool = False) -> ChangedPath:
    name, old = path.encode(), known or deleted
    return ChangedPath(
        status="D" if deleted else "M" if known else "A",
        old_path=name if old else None, new_path=None if deleted else name,
        old_mode=0o100644 if old else 0, new_mode=0 if deleted else mode, old_sha="a" * 40, new_sha="b" * 40,
    )  # fmt: skip


def judge(path: str, *, gold: tuple[str, ...] = (), size: int = 1, **kind) -> tuple[str, str]:
    ground = Ground(
        base={name.encode(): 0o100644 for name in BASE},
        hidden={b"tests/test_a.py"},
        gold={name.encode() for name in gold},
        names={"json", "attr", "pytest", "random", "scripts", "yaml"},
        roots=[b".", b"python"],
        targets=[b"tests/test_a.py"],
        scripts=[b"manage.py"],
    )
    fate, note = Sieve(ground, {"b" * 40: size}).judge(change(path, **kind))
    return fate.value, note.code if note is not None else ""


@pytest.mark.parametrize(
    "path", ["pkg/mod.py", "pkg/new.py", "pkg/json.py", "README.md", "pkg/logo.png", "pkg/test/client.py",
             "scripts/other.py", "examples/json.py", "random.py", "attr/more.txt", "pkg/ab_test.py", "bin/tool"],
)  # fmt: skip
def test_work_on_the_project_crosses_over(path: str) -> None:
    assert judge(path) == ("crosses", "")


@pytest.mark.parametrize(
    "path, code",
    [
        ("conftest.py", "R1"), ("manage.py", "R1"), ("tests/conftest.py", "R1"), ("pkg/deep/conftest.py", "R1"),
        ("sitecustomize.py", "R3"), ("pkg/usercustomize.py", "R3"), ("sitecustomize/__init__.py", "R3"),
        ("x.pth", "R3"), ("a/X-1.0.DIST-INFO/entry_points.txt", "R3"), ("pkg.egg-info/entry_points.txt", "R3"),
        ("json.py", "R4"), ("src/json/__init__.py", "R4"), ("python/yaml.py", "R4"), ("tests/pytest.py", "R4"),
        ("attr/__init__.py", "R4"), ("scripts/__init__.py", "R4"),
        ("tests/test_a.py", "R13"), ("tests/__init__.py", "R13"), ("tests/new/test_b.py", "R13"),
        ("pkg/mod.pyc", "R15"), ("pkg/__pycache__/mod.cpython-311.pyc", "R15"), ("pkg/mod.so", "R15"),
        (".git/config", "R16"), ("pkg/.GIT/hooks/x", "R16"), (".gitattributes", "R16"),
        ("a" * 300, "R17"), ("pkg/a\nb.py", "R17"),
    ],
)  # fmt: skip
def test_what_python_pytest_or_git_find_by_themselves_stays_behind(path: str, code: str) -> None:
    assert judge(path) == ("base", code)


def test_links_submodules_and_huge_files_stay_behind() -> None:
    assert judge("pkg/link", mode=0o120000) == ("base", "R17")
    assert judge("pkg/sub", mode=0o160000) == ("base", "R17")
    assert judge("pkg/big.bin", size=1 << 30) == ("base", "R17")


def test_hidden_tests_that_a_candidate_deleted_come_back() -> None:
    assert judge("tests/test_a.py", deleted=True) == ("base", "R13")
    assert judge("tests/conftest.py", deleted=True) == ("base", "R1")
    assert judge("pkg/mod.py", deleted=True) == ("crosses", "")


@pytest.mark.parametrize("path", ["x.pth", "json.py", "pkg/mod.so", "tests/helper.py", ".gitattributes"])
def test_what_the_fix_itself_touches_crosses_over(path: str) -> None:
    assert judge(path, gold=(path,)) == ("crosses", "")


def test_a_conftest_that_the_fix_touches_is_taken_from_the_fix() -> None:
    assert judge("conftest.py", gold=("conftest.py",)) == ("gold", "R1")


def test_files_with_settings_are_looked_into() -> None:
    assert judge("setup.cfg", known=True)[0] == Fate.SETTINGS.value
    assert judge("tests/pytest.ini") == ("base", "R2")


TOML = (
    b'[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n\n[tool.black]\nline-length = 99\n'
)


def test_an_edit_beside_the_settings_of_pytest_is_no_edit_of_them() -> None:
    assert same_settings(b"pyproject.toml", TOML, TOML.replace(b"99", b"88"))
    assert same_settings(b"setup.cfg", b"[metadata]\nname=a\n", None)
    assert not same_settings(b"pytest.ini", b"", None)


def test_only_the_settings_of_pytest_are_exchanged() -> None:
    theirs = TOML.replace(b"-q", b"-p evil").replace(b"99", b"88")
    made = with_settings_of(b"pyproject.toml", theirs, TOML)
    assert made is not None
    assert b"evil" not in made
    assert b"= 88" in made
    assert (
        with_settings_of(b"a/tox.ini", b"[tox]\nx = 1\n[pytest]\naddopts = -p evil\n", None)
        == b"[tox]\nx = 1\n"
    )


@pytest.mark.parametrize(
    "path, theirs",
    [
        (b"pyproject.toml", b'tool.pytest.ini_options.addopts = "-p evil"\n'),
        (b"pyproject.toml", b'[tool]\npytest = {ini_options = {addopts = "-p evil"}}\n'),
        (b"pyproject.toml", b"[tool.pytest.ini_options]\naddopts = ["),
        (b"setup.cfg", b"[tool:pytest]#x]\naddopts = -p evil\n"),
        (b"setup.cfg", b"[tool:pytest] ; ]\naddopts = -p evil\n"),
    ],
)
def test_settings_in_another_spelling_are_not_taken_for_none(path: bytes, theirs: bytes) -> None:
    trusted = TOML if path == b"pyproject.toml" else b"[metadata]\nname = a\n"
    assert not same_settings(path, theirs, trusted)
    assert b"evil" not in (with_settings_of(path, theirs, trusted) or b"")


def test_hidden_files_win_over_a_file_in_the_place_of_their_folder() -> None:
    def files(*names: bytes) -> TreeDelta:
        return TreeDelta(files={name: FileContent(data=name) for name in names})

    made = overlaid(files(b"tests", b"pkg/a.py", b"tests/test_a.py/x"), files(b"tests/test_a.py"))
    assert set(made.files) == {b"pkg/a.py", b"tests/test_a.py"}
    kept = overlaid(TreeDelta(removed=(b"tests/test_a.py", b"b.py")), files(b"tests/test_a.py"))
    assert kept.removed == (b"b.py",)

"""Lock files of five tools, and what isn't one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.environment.evidence.lock_files import read_locked_versions
from reconstruct.environment.evidence.tree import Notebook, SourceTree
from reconstruct.environment.facts import collect_facts
from reconstruct.environment.needs import choose_needs

UV = """
version = 1
[[package]]
name = "Mine"
version = "0.1.0"
source = { editable = "." }
[[package]]
name = "Attrs_X"
version = "23.1.0"
source = { registry = "https://index.invalid/simple" }
[[package]]
name = "numpy"
version = "1.24.0"
source = { registry = "https://index.invalid/simple" }
[[package]]
name = "numpy"
version = "2.0.0"
source = { registry = "https://index.invalid/simple" }
[[package]]
name = "fork"
version = "1.0"
source = { git = "https://code.invalid/fork?rev=1" }
"""
POETRY = """
[[package]]
name = "click"
version = "8.1.0"
category = "main"
[[package]]
name = "local"
version = "1.0"
[package.source]
type = "directory"
url = "../local"
[[package]]
name = "setuptools"
version = "60.0"
[metadata]
lock-version = "1.1"
"""
PDM = """
[[package]]
name = "click"
version = "8.1.1"
groups = ["default"]
[[package]]
name = "fork"
version = "1.0"
git = "https://code.invalid/fork.git"
"""
PYLOCK = """
lock-version = "1.0"
[[packages]]
name = "click"
version = "8.1.2"
index = "https://index.invalid/simple"
[[packages]]
name = "tree"
directory = { path = "." }
"""
PIPFILE = json.dumps(
    {
        "default": {"click": {"version": "==8.1.3", "hashes": []}, "fork": {"git": "x", "ref": "1"}},
        "develop": {"Pytest": {"version": "==7.0"}},
    }
)


def read(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    notes = Notebook()
    return read_locked_versions(SourceTree.open(folder), notes), notes.entries()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("uv__lock", UV, ("attrs-x==23.1.0",)),
        ("poetry__lock", POETRY, ("click==8.1.0",)),
        ("pdm__lock", PDM, ("click==8.1.1",)),
        ("pylock__toml", PYLOCK, ("click==8.1.2",)),
        ("Pipfile__lock", PIPFILE, ("click==8.1.3", "pytest==7.0")),
    ],
)
def test_each_format(tmp_path, name, text, expected):
    pins, notes = read(tmp_path, **{name: text})
    assert pins == expected
    assert [(n.key, n.value) for n in notes] == [("locked_versions", str(len(expected)))]


def test_a_broken_lock_is_said_and_the_next_one_counts(tmp_path):
    pins, notes = read(tmp_path, uv__lock="<<<<<<< HEAD", poetry__lock=POETRY)
    assert pins == ("click==8.1.0",)
    assert [(n.key, n.path) for n in notes] == [("broken", "uv.lock"), ("locked_versions", "poetry.lock")]


def test_no_lock_is_no_finding(tmp_path):
    assert read(tmp_path) == ((), ())


@pytest.mark.parametrize(
    "text", ["package = 1", 'package = ["x"]', "[[package]]\nversion = '1'", "[package]\na=1"]
)
def test_odd_toml_is_no_crash(tmp_path, text):
    pins, notes = read(tmp_path, uv__lock=text)
    assert pins == ()
    assert all(n.key == "broken" for n in notes)


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v))
)
def test_any_json_is_no_crash(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("tree")
    pins, _ = read(folder, Pipfile__lock=json.dumps({"default": data}))
    assert isinstance(pins, tuple)


def test_the_lock_bounds_what_is_resolved_but_not_with_a_younger_python(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'mine'\nversion = '1'\n")
    (tmp_path / "uv.lock").write_text(UV)
    facts = collect_facts(tmp_path)
    assert choose_needs(facts, "3.11", {}).constraints == ("attrs-x==23.1.0",)
    assert choose_needs(facts, "3.11", {}, runner_pins=False).constraints == ()

"""A foreign tree is read without leaving it, without waiting, and without an exception."""

import os
import time

import pytest
from evidence_trees import make_tree, opened

from reconstruct.environment.evidence.tree import (
    MAX_FILE_BYTES,
    MAX_NOTES,
    Notebook,
    SourceTree,
    clean,
    inside,
)
from reconstruct.environment.facts import collect_facts
from reconstruct.environment.needs import choose_needs


def broken_paths(notes):
    return [entry.path for entry in notes.entries() if entry.key == "broken"]


def test_link_out_of_the_tree_gives_no_host_file(tmp_path):
    secret = tmp_path / "secret.toml"
    secret.write_text('[project]\nname = "host"\n')
    root = make_tree(tmp_path / "tree", {"a.py": ""})
    (root / "pyproject.toml").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)
    tree = SourceTree.open(root)
    assert tree.files == ("a.py",)
    assert collect_facts(root).name is None


def test_link_inside_the_tree_is_read(tmp_path):
    root = make_tree(tmp_path, {"real/requirements.txt": "alpha\n"})
    (root / "requirements.txt").symlink_to("real/requirements.txt")
    tree = SourceTree.open(root)
    assert tree.read("requirements.txt", Notebook()) == "alpha\n"


def test_link_that_appears_after_listing_still_reads_nothing_outside(tmp_path):
    (tmp_path / "secret").write_text("host")
    tree, notes = opened(tmp_path / "tree", {"tox.ini": "[tox]\n"})
    (tree.root / "tox.ini").unlink()
    (tree.root / "tox.ini").symlink_to(tmp_path / "secret")
    assert tree.read("tox.ini", notes) is None
    assert broken_paths(notes) == ["tox.ini"]


def test_link_loops_end(tmp_path):
    root = make_tree(tmp_path, {"a/b.py": ""})
    (root / "a" / "up").symlink_to("..")
    (root / "self").symlink_to("self")
    assert SourceTree.open(root).files == ("a/b.py",)


def test_tree_that_is_itself_behind_a_link_is_read(tmp_path):
    make_tree(tmp_path / "real", {"setup.cfg": "[metadata]\nname = demo\n"})
    (tmp_path / "link").symlink_to("real")
    assert collect_facts(tmp_path / "link").name == "demo"


def test_pipe_in_the_tree_blocks_nobody(tmp_path):
    os.mkfifo(tmp_path / "setup.py")
    assert collect_facts(tmp_path).is_package is False


@pytest.mark.parametrize(
    "content",
    [b"\0" * 100, b"\xff\xfe[tox]\0", b"x" * (MAX_FILE_BYTES + 1)],
    ids=["zeros", "utf-16", "huge"],
)
@pytest.mark.parametrize("name", ["setup.py", "setup.cfg", "tox.ini", "pyproject.toml", "noxfile.py"])
def test_binary_or_huge_file_is_evidence_not_an_exception(tmp_path, name, content):
    facts = collect_facts(make_tree(tmp_path, {name: content}))
    assert name in [entry.path for entry in facts.evidence if entry.key == "broken"]


def test_names_that_are_no_utf8_are_left_out(tmp_path):
    (tmp_path / "ok.py").write_text("")
    (tmp_path / os.fsdecode(b"\xff.py")).write_text("")
    assert SourceTree.open(tmp_path).files == ("ok.py",)


def test_odd_but_valid_names_survive(tmp_path):
    name = "requirements with 'quotes'\nand lines.txt"
    tree, notes = opened(tmp_path, {name: "alpha"})
    assert tree.read(name, notes) == "alpha"


def test_very_deep_tree_is_cut_and_said_so(tmp_path):
    deep = tmp_path
    for _ in range(40):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "setup.py").write_text("")
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = demo\n")
    facts = collect_facts(tmp_path)
    assert facts.name == "demo"
    assert any("deeper than the limits" in entry.value for entry in facts.evidence)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a\0b", "..", "c:\\x"])
def test_include_that_leaves_the_tree_is_refused(path):
    assert inside("", path) is None


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [("", "./a", "a"), ("a", "../b", "b"), ("a/b", "c", "a/b/c"), ("", ".", ".")],
)
def test_include_inside_the_tree_is_normalised(base, path, expected):
    assert inside(base, path) == expected


def test_evidence_holds_nothing_that_a_store_refuses():
    assert clean("a\0b\ud800\n" + "x" * 1000).startswith("a b")
    assert clean("\ud800").encode() == b"?" or clean("\ud800") == ""
    assert len(clean("x" * 10_000)) <= 300


BLANKS = " " * 300_000
LONG = [
    "a" + BLANKS + "b",
    "import a" + BLANKS + "b",
    "[tox]\nenvlist = " + "py{38,39}-" * 30_000,
    "[tox]\nenvlist = py{1-" + "9" * 100_000 + "}, py38-" + "8" * 100_000,
    "[project]\nname='d'\nrequires-python='>=" + "9" * 100_000 + "'\ndependencies=['a==" + "9" * 9_000 + "']",
    "[tool.poetry.dependencies]\npython='^" + "9" * 100_000 + "'\na='^" + "9" * 9_000 + "'",
    "[project]\ndependencies=[" + ",".join(f"'a{n}'" for n in range(30_000)) + "]",
    "".join(f"a{n}==1\n" for n in range(9_000)),
    "[testenv]\ndeps =\n" + "".join(f" a{n}\n" for n in range(9_000)),
    "pytest_plugins:" * 20_000,
    "pip install " + "'\"" * 90_000,
    "x: '" + "lint" * 40_000 + "'",
    "python: [" + "3.9, " * 30_000 + "]",
    "\\\n" * 120_000,
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_no_content_makes_a_reader_slow(tmp_path, text):
    names = [
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "pytest.ini",
        "pyproject.toml",
        "noxfile.py",
        "requirements.txt",
    ]
    names += [
        ".travis.yml",
        "environment.yml",
        "ci/install.sh",
        "tests/conftest.py",
        ".github/workflows/ci.yml",
    ]
    started = time.process_time()
    facts = collect_facts(make_tree(tmp_path, dict.fromkeys(names, text)))
    choose_needs(facts, "3.9", {"tests/test_a.py": text})
    assert time.process_time() - started < 20


def test_flood_of_findings_is_cut_and_said_so(tmp_path):
    make_tree(tmp_path, {"requirements.txt": "".join(f"git+https://host/{n}\n" for n in range(9000))})
    evidence = collect_facts(tmp_path).evidence
    assert len(evidence) <= MAX_NOTES + 1
    assert evidence[-1].key == "truncated"


def test_missing_folder_is_an_error_of_the_caller(tmp_path):
    with pytest.raises(FileNotFoundError):
        collect_facts(tmp_path / "nowhere")


def test_empty_tree_gives_facts_without_a_package(tmp_path):
    facts = collect_facts(tmp_path)
    assert (facts.name, facts.is_package, facts.groups) == (None, False, ())

"""Requirement lines and files, as pip reads them."""

import pytest
from evidence_trees import opened
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from reconstruct.environment.evidence.requirement_files import (
    rank_name,
    read_requirement_file,
    requirement_files,
)
from reconstruct.environment.evidence.requirement_lines import (
    Kind,
    name_of,
    named,
    parse_line,
    parse_requirement_text,
)


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        ("alpha", Kind.NAMED, "alpha"),
        ("Alpha.Beta==1.0", Kind.NAMED, "Alpha.Beta==1.0"),
        ("alpha >= 1, < 2", Kind.NAMED, "alpha<2,>=1"),
        ("alpha (>=1)", Kind.NAMED, "alpha>=1"),
        ("alpha; python_version < '3.8'", Kind.NAMED, 'alpha; python_version < "3.8"'),
        ("alpha==1 --hash=sha256:abc", Kind.NAMED, "alpha==1"),
        ("'alpha[x]'", Kind.NAMED, "alpha[x]"),
        ("alpha>=1.*", Kind.NAMED, "alpha>=1"),
        ("alpha==2004d", Kind.NAMED, "alpha"),
        ("-r base.txt", Kind.FILE, "base.txt"),
        ("-rbase.txt", Kind.FILE, "base.txt"),
        ("--requirement=base.txt", Kind.FILE, "base.txt"),
        ("-c bounds.txt", Kind.CONSTRAINTS, "bounds.txt"),
        ("-e .", Kind.PATH, "."),
        ("-e.", Kind.PATH, "."),
        ("--editable ./plugin", Kind.PATH, "./plugin"),
        (".", Kind.PATH, "."),
        ("./dist/x.whl", Kind.PATH, "./dist/x.whl"),
        ("git+https://host/owner/alpha.git@main", Kind.URL, "git+https://host/owner/alpha.git@main"),
        ("alpha @ https://host/a.zip", Kind.URL, "alpha @ https://host/a.zip"),
        ("-e git+ssh://git@host/alpha#egg=alpha", Kind.URL, "git+ssh://git@host/alpha#egg=alpha"),
        ("https://host/a.tar.gz", Kind.URL, "https://host/a.tar.gz"),
        ("--index-url https://host", Kind.OPTION, "--index-url https://host"),
        ("--pre", Kind.OPTION, "--pre"),
        ("not a requirement at all", Kind.BROKEN, "not a requirement at all"),
    ],
)
def test_line_is_told_apart(line, kind, text):
    parsed = parse_line(line)
    assert (parsed.kind, parsed.text) == (kind, text)


def test_path_keeps_the_extras_of_the_project():
    assert parse_line("-e .[test,dev]").extras == ("test", "dev")
    assert parse_line(".[test]").kind is Kind.PATH
    assert parse_line("{toxinidir}[fmt]").extras == ("fmt",)


def test_dropped_version_is_said():
    assert "2004d" in parse_line("alpha==2004d").note


def test_comments_and_continuations_do_not_become_requirements():
    text = "# alpha\nbeta  # why\ngamma==1 \\\n    --hash=sha256:aa\ndelta#egg\n\n"
    lines = list(parse_requirement_text(text))
    assert [line.text for line in lines if line.kind is Kind.NAMED] == ["beta", "gamma==1"]
    assert [line.number for line in lines][:2] == [2, 3]


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}([-_.][A-Za-z0-9]{1,5})?", fullmatch=True)
BOUNDS = st.lists(
    st.tuples(st.sampled_from(["==", ">=", "<=", "!=", "<", ">"]), st.integers(0, 9)), max_size=2
).map(lambda bounds: ",".join(f"{operator}{number}.0" for operator, number in bounds))


@given(NAMES, BOUNDS)
def test_every_plain_requirement_survives_whole(name, bounds):
    line = parse_line(f"{name}{bounds}")
    assert line.kind is Kind.NAMED
    assert Requirement(line.text) == Requirement(f"{name}{bounds}")


@given(st.text(max_size=200))
@example("0\u00b90")
def test_no_text_breaks_the_parser_and_what_it_calls_named_can_be_read_again(text):
    for line in parse_requirement_text(text):
        if line.kind is Kind.NAMED:
            assert name_of(line.text) == line.name
            Requirement(line.text)


def test_includes_are_relative_to_their_file_and_loops_end(tmp_path):
    tree, notes = opened(
        tmp_path,
        {
            "requirements/test.txt": "-r base.txt\n-r ../requirements.txt\npytest==7.0\n",
            "requirements/base.txt": "alpha\n-r test.txt\n-r base.txt\n",
            "requirements.txt": "beta\n-c requirements/bounds.txt\n",
            "requirements/bounds.txt": "gamma<2\n",
        },
    )
    found = read_requirement_file("requirements/test.txt", tree, notes)
    assert found.requirements == ("alpha", "beta", "pytest==7.0")
    assert found.constraints == ("gamma<2",)


def test_endless_chain_of_includes_ends(tmp_path):
    files = {f"r{n}.txt": f"alpha{n}\n-r r{n + 1}.txt\n" for n in range(200)}
    tree, notes = opened(tmp_path, files)
    found = read_requirement_file("r0.txt", tree, notes)
    assert 5 < len(found.requirements) < 50
    assert any("nested too deeply" in entry.value for entry in notes.entries())


def test_include_out_of_the_tree_is_noted_and_dropped(tmp_path):
    (tmp_path / "host.txt").write_text("secret\n")
    tree, notes = opened(tmp_path / "tree", {"requirements.txt": "-r ../host.txt\n-r /etc/passwd\nalpha\n"})
    assert read_requirement_file("requirements.txt", tree, notes).requirements == ("alpha",)
    assert [e.key for e in notes.entries()].count("requirement_file_missing") == 2


def test_the_project_and_addresses_are_no_requirements(tmp_path):
    tree, notes = opened(
        tmp_path,
        {
            "requirements.txt": "-e .[test]\n-e ./plugins/one\ngit+https://host/o/beta.git\nalpha\n./missing\n",
            "plugins/one/setup.py": "",
        },
    )
    found = read_requirement_file("requirements.txt", tree, notes)
    assert found.requirements == ("alpha",)
    assert (found.extras, found.local, found.urls) == (("test",), ("plugins/one",), ("beta",))


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("requirements-test.txt", 0),
        ("test-requirements.txt", 0),
        ("requirements/tests.in", 0),
        ("requirements_dev.txt", 1),
        ("requirements.txt", 2),
        ("requirements-min.txt", None),
        ("requirements/docs.txt", None),
        ("doc-requirements.txt", None),
        ("requirements-lint.txt", None),
        ("requirements/typing.txt", None),
        ("requirements/build.txt", None),
        ("constraints.txt", None),
        ("requirements-release.txt", None),
        ("test_requirements_minimum.txt", None),
    ],
)
def test_requirement_file_is_ranked_by_its_name(path, rank):
    assert rank_name(path) == rank


def test_latest_is_not_taken_for_test():
    assert rank_name("requirements-latest.txt") == 2


def test_files_for_tests_come_first(tmp_path):
    tree, notes = opened(
        tmp_path,
        {
            "requirements/testing/all.txt": "d",
            "requirements/testing/minver.txt": "",
            "requirements.txt": "a",
            "requirements-dev.txt": "b",
            "requirements/test.txt": "c",
            "notes.txt": "",
        },
    )
    paths = [file.path for file in requirement_files(tree, notes)]
    assert paths == [
        "requirements/test.txt",
        "requirements/testing/all.txt",
        "requirements-dev.txt",
        "requirements.txt",
    ]


def test_named_keeps_only_what_an_index_can_give():
    assert named(["alpha", "git+https://x/y", "-r a.txt", "beta>1", "alpha"]) == ("alpha", "beta>1")

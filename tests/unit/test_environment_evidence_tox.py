"""tox and nox: names, factors, substitutions, sessions."""

import textwrap

import pytest
from evidence_trees import make_tree
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.environment.evidence.model import Origin
from reconstruct.environment.evidence.tox_names import (
    MAX_NAMES,
    conditions_of,
    environment_for,
    expand_braces,
    expand_list,
    holds,
)
from reconstruct.environment.facts import collect_facts
from reconstruct.environment.needs import choose_needs


def facts_of(root, **files):
    names = {
        "tox_ini": "tox.ini",
        "nox": "noxfile.py",
        "setup_cfg": "setup.cfg",
        "pyproject": "pyproject.toml",
    }
    return collect_facts(make_tree(root, {names[k]: textwrap.dedent(v) for k, v in files.items()}))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("py38, py39", ("py38", "py39")),
        ("py3{8,9}", ("py38", "py39")),
        ("py{38,39}-{a,b},lint", ("py38-a", "py38-b", "py39-a", "py39-b", "lint")),
        ("py{38, 39}\n  docs", ("py38", "py39", "docs")),
        ("py3{8-11}", ("py38", "py39", "py310", "py311")),
        ("{py38,py39}{,-cov}", ("py38", "py38-cov", "py39", "py39-cov")),
        ("py38,py38", ("py38",)),
        ("", ()),
        ("py{38", ("py{38",)),
    ],
)
def test_environment_list_is_expanded(text, names):
    assert expand_list(text) == names


FACTOR = st.from_regex(r"[a-z]{1,3}[0-9]{0,2}", fullmatch=True)


@given(st.lists(st.lists(FACTOR, min_size=1, max_size=3, unique=True), min_size=1, max_size=3))
def test_braces_give_every_choice_exactly_once(parts):
    text = "-".join("{" + ",".join(options) + "}" for options in parts)
    names = expand_braces(text)
    total = 1
    for options in parts:
        total *= len(options)
    assert len(names) == total
    assert all(
        all(factor in options for factor, options in zip(name.split("-"), parts, strict=True))
        for name in names
    )


@given(st.text(alphabet="py38{},- \n!:a", max_size=60))
def test_no_list_breaks_the_expansion(text):
    assert len(expand_list(text)) <= MAX_NAMES
    conditions_of(text)


def test_list_that_would_explode_is_cut():
    assert len(expand_list("-".join(["{a,b,c,d,e,f,g,h}"] * 30))) <= MAX_NAMES


@pytest.mark.parametrize(
    ("line", "environment", "counts"),
    [
        ("alpha", "py38", True),
        ("py38: alpha", "py38", True),
        ("py37: alpha", "py38", False),
        ("py37,py38: alpha", "py38", True),
        ("py{37,38}: alpha", "py38", True),
        ("py38-x: alpha", "py38", False),
        ("py38-x: alpha", "py38-x", True),
        ("!py38: alpha", "py38", False),
        ("!x: alpha", "py38", True),
        ("!py37-!x: alpha", "py38", True),
        ("x: alpha", "py38", False),
    ],
)
def test_factor_conditions(line, environment, counts):
    conditions, rest = conditions_of(line)
    assert rest == "alpha"
    assert holds(conditions, environment) is counts


@pytest.mark.parametrize(
    "line", ["git+https://host/x.git", "alpha>=1", "-r requirements.txt", "alpha @ https://h/x"]
)
def test_address_is_no_condition(line):
    assert conditions_of(line) == ((), line)


@pytest.mark.parametrize(
    ("names", "python", "chosen"),
    [
        (("py38", "py39", "lint"), "3.9", "py39"),
        (("py37", "py38"), "3.9", "py39"),
        (("py38-min", "py38-lib2", "py38-lib3", "py38-libmain"), "3.8", "py38-lib3"),
        (("py37-lib2", "py37-lib3", "py37-dev"), "3.8", "py38-lib3"),
        (("py38-cov", "py38"), "3.8", "py38"),
        (("lint", "tests", "docs"), "3.8", "tests"),
        (("lint",), "3.8", "py38"),
        ((), "3.10", "py310"),
        (("pypy3-a", "py39-a"), "3.9", "py39-a"),
    ],
)
def test_environment_for_a_python(names, python, chosen):
    assert environment_for(names, python) == chosen


def test_factors_references_and_files_of_tox_together(tmp_path):
    make_tree(tmp_path, {"requirements/test.txt": "mock\n", "plugins/one/setup.py": ""})
    facts = facts_of(
        tmp_path,
        tox_ini="""
        [tox]
        envlist = py3{8,10}, py310-old, lint
        [base]
        deps =
            hypothesis
            {[base]deps}
            {[more]deps}
        [more]
        deps = attrs
        [testenv]
        extras = test
        deps =
            pytest
            # comment
            -r requirements/test.txt
            {[base]deps}
            old: ancient
            py38: backport
            cov: coverage
            {env:EXTRA:default-one}
        commands =
            pip install {toxinidir}/plugins/one
            pytest {posargs}
        [testenv:lint]
        deps = flake8
        """,
    )
    assert facts.versions(Origin.TOX) == ("3.8", "3.10")
    needs = choose_needs(facts, "3.10", {})
    assert needs.requirements == ("pytest", "mock", "hypothesis", "attrs", "default-one")
    assert (needs.extras, needs.local) == (("test",), ("plugins/one",))
    assert "backport" in choose_needs(facts, "3.8", {}).requirements


def test_references_that_explode_end(tmp_path):
    lines = "\n".join(f"[s{n}]\ndeps =\n" + f"  {{[s{n + 1}]deps}}\n" * 20 for n in range(12))
    facts = facts_of(tmp_path, tox_ini=f"[tox]\nenvlist=py38\n[testenv]\ndeps = {{[s0]deps}}\n{lines}")
    assert choose_needs(facts, "3.8", {}).requirements == ("pytest",)


def test_named_environment_overrides_the_general_one(tmp_path):
    facts = facts_of(
        tmp_path,
        tox_ini="""
        [tox]
        envlist = py38, py39
        [testenv]
        deps = pytest
        [testenv:py39]
        deps = pytest>=7
        """,
    )
    assert choose_needs(facts, "3.9", {}).requirements == ("pytest>=7",)
    assert choose_needs(facts, "3.8", {}).requirements == ("pytest",)


@pytest.mark.parametrize(
    "files",
    [
        {"setup_cfg": "[tox:tox]\nenvlist = py38\n[testenv]\ndeps = mock\n"},
        {
            "pyproject": "[tool.tox]\nlegacy_tox_ini = '''\n[tox]\nenvlist = py38\n[testenv]\ndeps = mock\n'''\n"
        },
        {"pyproject": "[tool.tox]\nenv_list = ['py38', 'lint']\n[tool.tox.env_run_base]\ndeps = ['mock']\n"},
        {"tox_ini": "[tox]\nenvlist = py38\n[testenv]\ndeps: mock\n"},
    ],
    ids=["setup.cfg", "legacy", "native", "colon"],
)
def test_every_home_of_tox_is_read(tmp_path, files):
    facts = facts_of(tmp_path, **files)
    assert facts.versions(Origin.TOX) == ("3.8",)
    assert choose_needs(facts, "3.8", {}).requirements == ("mock", "pytest")


def test_tox_ini_that_only_holds_other_tools_is_no_tox(tmp_path):
    facts = facts_of(tmp_path, tox_ini="[flake8]\nmax-line-length = 99\n[pytest]\naddopts = -n 2\n")
    assert facts.tox.sections == ()
    assert facts.pytest.plugins == ("pytest-xdist",)


def test_nox_sessions_that_test_are_read_and_others_are_not(tmp_path):
    make_tree(tmp_path, {"requirements-x.txt": "gamma\n"})
    facts = facts_of(
        tmp_path,
        nox="""
        import nox
        PYTHONS = ["3.8", "3.10", "pypy3.9"]
        EXTRA = "alpha"
        @nox.session(python=PYTHONS)
        @nox.parametrize("x", [1])
        def tests(session, x):
            session.install(".[fmt]", "pytest", EXTRA, "-r", "requirements-x.txt")
            session.install(f"beta=={x}")
            session.run("pytest", *session.posargs)
        @nox.session(python="3.12")
        def lint(session):
            session.install("flake8")
        @nox.session
        def audit(session):
            session.install("auditor")
        def helper(session):
            session.install("helper")
        """,
    )
    assert facts.versions(Origin.NOX) == ("3.8", "3.10")
    needs = choose_needs(facts, "3.10", {})
    assert needs.requirements == ("pytest", "alpha", "gamma")
    assert needs.extras == ("fmt",)

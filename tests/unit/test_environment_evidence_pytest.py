"""Plugins that pytest's settings load, and names that files import."""

import textwrap

import pytest
from evidence_trees import make_tree
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.environment.evidence.imports import imports_of, is_test_path, names_by_pattern
from reconstruct.environment.facts import collect_facts


def plugins(root, files):
    return collect_facts(make_tree(root, files)).pytest.plugins


@pytest.mark.parametrize(
    ("addopts", "plugin"),
    [
        ("--cov=demo --cov-report=xml", "pytest-cov"),
        ("-n auto", "pytest-xdist"),
        ("-n2", "pytest-xdist"),
        ("--timeout=30", "pytest-timeout"),
        ("-p pytest_cov", "pytest-cov"),
        ("-ppytest_mock", "pytest-mock"),
        ("--flake8", "pytest-flake8"),
        ("--benchmark-skip", "pytest-benchmark"),
    ],
)
def test_option_names_its_plugin_in_every_home_of_settings(tmp_path, addopts, plugin):
    homes = {
        "pytest.ini": f"[pytest]\naddopts = {addopts}\n",
        "tox.ini": f"[pytest]\naddopts =\n    {addopts}\n",
        "setup.cfg": f"[tool:pytest]\naddopts = {addopts}\n",
        "pyproject.toml": f'[tool.pytest.ini_options]\naddopts = "{addopts}"\n',
    }
    for number, (path, text) in enumerate(homes.items()):
        assert plugins(tmp_path / str(number), {path: text}) == (plugin,)


@pytest.mark.parametrize(
    "addopts", ["-p no:cacheprovider", "-ra --strict-markers -v", "-p local_plugin", "-x -q", "'"]
)
def test_own_options_and_local_plugins_need_nothing(tmp_path, addopts):
    assert plugins(tmp_path, {"pytest.ini": f"[pytest]\naddopts = {addopts}\n"}) == ()


def test_settings_conftest_and_required_plugins(tmp_path):
    facts = collect_facts(
        make_tree(
            tmp_path,
            {
                "pytest.ini": "[pytest]\nasyncio_mode = auto\nrequired_plugins = pytest-mock>=3 pytest-x\nminversion = 6.0\n",
                "tests/conftest.py": 'pytest_plugins = ["pytest_timeout", "tests.local"]\n',
            },
        )
    )
    assert facts.pytest.plugins == ("pytest-asyncio", "pytest-timeout")
    assert facts.pytest.requirements == ("pytest-mock>=3", "pytest-x")
    assert facts.pytest.minimum == "6.0"


def test_pyproject_settings_may_be_lists(tmp_path):
    toml = '[tool.pytest.ini_options]\naddopts = ["--cov", "-ra"]\ntimeout = 5\nminversion = 7\n'
    assert plugins(tmp_path, {"pyproject.toml": toml}) == ("pytest-cov", "pytest-timeout")


def test_imports_needed_are_told_from_imports_wanted():
    source = textwrap.dedent(
        """
        import alpha.sub as a, beta
        from gamma import x
        from . import local
        from .sibling import y
        try:
            import delta
        except ImportError:
            delta = None
        epsilon = pytest.importorskip("epsilon.sub")
        if TYPE_CHECKING:
            from zeta import z
        def test_a(mocker, tmp_path):
            import eta
        @pytest.mark.asyncio
        async def test_b(httpserver, *, benchmark): ...
        def helper(settings): ...
        @pytest.fixture()
        def thing(requests_mock): ...
        """
    )
    found = imports_of({"tests/test_a.py": source})
    assert found.needed == {"alpha", "beta", "gamma"}
    assert found.wanted == {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"}
    assert found.fixtures == {"mocker", "tmp_path", "httpserver", "benchmark", "requests_mock"}
    assert "asyncio" in found.markers


def test_file_that_does_not_parse_is_searched_by_pattern():
    found = imports_of({"a.py": "import alpha\nprint 'x'\n"})
    assert (found.needed, found.wanted) == (frozenset(), {"alpha"})


@given(st.text(max_size=300))
def test_no_source_breaks_the_search(text):
    imports_of({"a.py": text})
    list(names_by_pattern(text))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True),
        ("pkg/test/data/x.py", True),
        ("test_a.py", True),
        ("pkg/a_test.py", True),
        ("conftest.py", True),
        ("pkg/latest.py", False),
        ("pkg/contest/a.py", False),
    ],
)
def test_paths_of_tests(path, expected):
    assert is_test_path(path) is expected


@pytest.mark.parametrize(
    ("files", "framework"),
    [
        ({"setup.cfg": "[tool:pytest]\naddopts = -ra\n"}, "pytest"),
        ({"tests/test_a.py": "import pytest\n"}, "pytest"),
        ({"tox.ini": "[testenv]\ncommands = py.test {posargs}\n"}, "pytest"),
        ({".travis.yml": "script: nosetests tests\n"}, "nose"),
        ({".travis.yml": "script: python manage.py test\n"}, "django"),
        ({"tests/test_a.py": "import unittest\n"}, "unittest"),
    ],
)
def test_framework_hint(tmp_path, files, framework):
    assert collect_facts(make_tree(tmp_path, files)).runner.framework == framework

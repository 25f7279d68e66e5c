"""Python versions as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from reconstruct.environment.evidence.poetry_versions import to_pep440
from reconstruct.environment.evidence.versions import (
    allows,
    classifier_version,
    python_requirement,
    python_version,
    sort_versions,
)


@pytest.mark.parametrize(
    ("token", "version"),
    [
        ("3.9", "3.9"),
        ("'3.10'", "3.10"),
        ("3.9.18", "3.9"),
        ("3.9.x", "3.9"),
        ("3.9.*", "3.9"),
        ("py39", "3.9"),
        ("py310", "3.10"),
        ("py3.9", "3.9"),
        ("python3.8", "3.8"),
        ("cp37", "3.7"),
        ("2.7", "2.7"),
        ("py27", "2.7"),
        ("C:\\Python36-x64", "3.6"),
        ("C:/Python37", "3.7"),
        ("python:3.7-slim", "3.7"),
        ("circleci/python:3.6.1", "3.6"),
        ("cimg/python:3.11", "3.11"),
    ],
)
def test_version_is_read(token, version):
    assert python_version(token) == version


@pytest.mark.parametrize(
    "token",
    [
        "3.9-dev",
        "3.12.0-rc.1",
        "3.11.0-beta - 3.11",
        "~3.12.0-0",
        "3.13t",
        "nightly",
        "pypy3.9",
        "pypy-3.8",
        "pypy3",
        "3",
        "3.x",
        ">=3.8",
        "${{ matrix.python }}",
        "",
        "windows-2019",
        "python:3.9-rc",
        "4.0",
        "postgres:3.9",
    ],
)
def test_what_is_no_released_cpython_does_not_count(token):
    assert python_version(token) is None


def test_versions_sort_by_number_not_by_text():
    assert sort_versions(["3.10", "3.9", "2.7", "3.9"]) == ("2.7", "3.9", "3.10")


def test_major_only_classifier_names_no_version():
    assert classifier_version("Programming Language :: Python :: 3") is None
    assert classifier_version("Programming Language :: Python :: 3 :: Only") is None
    assert classifier_version("Programming Language :: Python :: 3.10") == "3.10"


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        (">=3.6", "3.6.15", "3.5.2"),
        (">=3.6.*", "3.6.15", "3.5.2"),
        (">=2.7, !=3.0.*, !=3.1.*", "3.7.1", "3.0.1"),
        ("^3.7", "3.11.7", "4.0.0"),
        ("~2.7 || ^3.5", "3.9.18", "3.4.1"),
        ("~3.8", "3.8.18", "3.9.1"),
        (">=3.6,<4.0", "3.12.1", "2.7.18"),
        ("3.9.*", "3.9.1", "3.10.1"),
        (">= 3.7", "3.7.0", "3.6.0"),
        (">=3.8,<3.11 | >=3.12", "3.12.1", "3.11.1"),
    ],
)
def test_requirement_on_python_is_read_in_every_dialect(text, yes, no):
    assert allows(python_requirement(text), yes)
    assert not allows(python_requirement(text), no)


def test_requirement_that_says_nothing_allows_everything():
    assert python_requirement("*") == ()
    assert python_requirement("what?") == ()
    assert allows((), "3.9.1")


NUMBERS = st.lists(st.integers(0, 40), min_size=1, max_size=3)


@given(NUMBERS, st.sampled_from("^~"))
def test_caret_and_tilde_allow_their_own_version_and_exclude_the_next_major(numbers, operator):
    version = ".".join(map(str, numbers))
    spec = SpecifierSet(to_pep440(f"{operator}{version}"))
    assert spec.contains(version)
    assert not spec.contains(f"{numbers[0] + 1}.{99}")


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text):
    for spec in python_requirement(text):
        SpecifierSet(spec)
    version = python_version(text)
    assert version is None or Version(version)

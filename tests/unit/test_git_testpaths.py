"""Which side of a change a path belongs to (edge case B020 and its kind)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.git.testpaths import PathRole, classify_path, is_python, is_test_module


@pytest.mark.parametrize(
    "path",
    [
        b"pkg/tests/test_x.py",
        b"conftest.py",
        b"src/pkg/conftest.py",
        b"tests/data/snap.json",
        b"tests/t\xc3\xa9st_a.py",
        b"Tests/Helper.py",
        b"test/unittest_brain.py",
        b"pkg/app/tests.py",
        b"pkg/core_test.py",
        b"pkg/TestCore.py",
        b"testing/test_collection.py",
        b"testing/example_scripts/readme.txt",
        b"unit_tests/helpers.py",
        b"integration-tests/data.bin",
        b"src/pkg/data/test_files/a.dcm",
        b"pkg/testcharsetfiles/a.dcm",
        b"pkg/data/test_psm3-2019.csv",
        b"pkg/__snapshots__/x.ambr",
        b"tests/requirements.txt",
        b"tests/Dockerfile",
        b"test.py",
        b"numpy/testing/tests/test_utils.py",
        b"a b/tests/odd\nname.py",
        b"tests/\xff\xfe.bin",
    ],
)
def test_path_of_tests_is_not_taken_for_the_fix(path):
    assert classify_path(path) is PathRole.TEST


@pytest.mark.parametrize(
    "path",
    [
        b"src/_pytest/python.py",
        b"pkg/testing/utils.py",
        b"contest/latest.py",
        b"pkg/mod.py",
        b"pkg/attest.py",
        b"pkg/latest/protest.py",
        b"src/pkg/test.py",
        b"pkg/testing.py",
        b"pkg/pytest_plugin.py",
        b"pkg/greatest.py",
        b"pkg/contests/models.py",
        b"pkg/changes/apply.py",
        b"src/pkg/docs/render.py",
        b"pkg/data/table.csv",
    ],
)
def test_source_whose_name_holds_the_word_test_is_not_hidden_among_the_tests(path):
    assert classify_path(path) is PathRole.SOURCE


@pytest.mark.parametrize(
    "path, role",
    [
        (b"docs/testing.md", PathRole.DOCS),
        (b"docs/conf.py", PathRole.DOCS),
        (b"README.rst", PathRole.DOCS),
        (b"CHANGES", PathRole.DOCS),
        (b"pkg/notes.md", PathRole.DOCS),
        (b"newsfragments/12.bugfix", PathRole.DOCS),
        (b"news/12.txt", PathRole.DOCS),
        (b"releasenotes/notes/fix-1.yaml", PathRole.DOCS),
        (b".github/workflows/test.yml", PathRole.CI),
        (b".github/workflows/tests/test_x.py", PathRole.CI),
        (b"azure-pipelines-test.yml", PathRole.CI),
        (b"setup.py", PathRole.CONFIG),
        (b"tox.ini", PathRole.CONFIG),
        (b"requirements-test.txt", PathRole.CONFIG),
        (b"test_requirements.txt", PathRole.CONFIG),
        (b"requirements/tests.in", PathRole.CONFIG),
        (b"requirements-skip/tests-dev.txt", PathRole.CONFIG),
        (b"bin/test_travis.sh", PathRole.OTHER),
        (b"docs/test_data.csv", PathRole.DOCS),
        (b"uv.lock", PathRole.CONFIG),
        (b"benchmarks/speed.py", PathRole.OTHER),
        (b"examples/app.py", PathRole.OTHER),
        (b"examples/tutorial/tests/test_auth.py", PathRole.TEST),
    ],
)
def test_docs_config_and_ci_count_as_neither_source_nor_test(path, role):
    assert classify_path(path) is role


@given(st.binary(max_size=80))
def test_any_bytes_have_one_role(path):
    assert classify_path(path) in PathRole


@given(st.lists(st.sampled_from([b"src", b"pkg", b"lib", b"core"]), max_size=3), st.booleans())
def test_role_depends_on_components_not_on_depth(folders, capital):
    folder = b"TESTS" if capital else b"tests"
    assert classify_path(b"/".join([*folders, folder, b"x.json"])) is PathRole.TEST
    assert classify_path(b"/".join([*folders, b"x.json"])) is PathRole.SOURCE


def test_support_files_are_no_test_modules():
    assert is_test_module(b"tests/test_a.py")
    assert not is_test_module(b"tests/conftest.py")
    assert not is_test_module(b"tests/__init__.py")
    assert not is_test_module(b"tests/data/snap.json")
    assert not is_test_module(b"pkg/mod.py")


def test_cython_and_stubs_are_python():
    assert is_python(b"pkg/_fast.pyx")
    assert is_python(b"pkg/mod.pyi")
    assert not is_python(b"pkg/app.js")
    assert not is_python(b"happy")

"""From facts to recipes: dates, interpreters, builds, extension modules, alternatives."""

import textwrap
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from planned import ALL, WORKFLOW, day, plan, setup_py

from reconstruct.environment.interpreters import choose_interpreters, effective_date, shifted_date
from reconstruct.environment.knowledge import python_releases
from reconstruct.environment.plan import outdated_backends, setuptools_bound
from reconstruct.environment.requirement_sets import can_be_met, one_each, tidy, unpinned

# --- dates -------------------------------------------------------------------------------------------


def test_base_commit_younger_than_the_pull_request_moves_the_date(tmp_path):
    best = plan(tmp_path, {"setup.py": setup_py()}, "2020-01-01", base="2021-11-20")[0]
    assert best.cutoff == day("2021-11-21")


def test_date_is_one_in_utc_whatever_the_zone():
    east = datetime(2022, 1, 1, 3, tzinfo=timezone(timedelta(hours=5)))
    assert effective_date(east, datetime(2021, 1, 1)) == datetime(2022, 1, 1, 22, tzinfo=UTC)  # noqa: DTZ001


def test_project_older_than_every_interpreter_moves_its_whole_date(tmp_path):
    files = {
        "setup.py": setup_py(tests_require=["pytest==2.3.4", "py==1.4", "helper==1.0", "pytest-cov==1.6"])
    }
    best = plan(tmp_path, files, "2013-03-01")[0]
    assert (best.python, best.cutoff) == ("3.6", python_releases()["3.6"] + timedelta(days=365))
    assert best.requirements == ("pytest", "py", "helper==1.0", "pytest-cov")


def test_pins_of_the_runner_stay_while_the_date_stays(tmp_path):
    best = plan(tmp_path, {"setup.py": setup_py(tests_require=["pytest==6.2.5"])})[0]
    assert best.requirements == ("pytest==6.2.5",)


def test_runner_pinned_inside_an_extra_is_freed_too_when_the_date_moves(tmp_path):
    files = {"setup.py": setup_py(extras_require={"test": ["pytest==2.3", "mock==1.0"]})}
    best = plan(tmp_path, files, "2013-03-01")[0]
    assert (best.extras, best.requirements) == ((), ("pytest", "mock==1.0"))
    assert plan(tmp_path / "now", files)[0].extras == ("test",)


def test_back_ends_have_a_window_of_their_own(tmp_path):
    files = {"setup.py": setup_py()}
    assert plan(tmp_path / "a", files, "2019-06-01")[0].build_cutoff == day("2023-01-08")
    assert plan(tmp_path / "b", files, "2024-06-01")[0].build_cutoff == day("2024-06-02")


def test_distribution_uploaded_again_later_is_exempt_only_before_that_day(tmp_path):
    files = {"setup.py": setup_py()}
    assert [name for name, _ in plan(tmp_path / "a", files, "2020-01-01")[0].exempt] == ["atomicwrites"]
    assert plan(tmp_path / "b", files, "2023-01-01")[0].exempt == ()


# --- interpreters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("supported", "requires", "date", "chosen"),
    [
        (["3.6", "3.7", "3.8"], (), "2020-08-01", ["3.8", "3.7", "3.6"]),
        (["3.7", "3.8"], (), "2020-01-01", ["3.7", "3.6"]),
        (["3.8", "3.9", "3.10"], (">=3.8",), "2022-01-01", ["3.9", "3.8"]),
        (["3.8", "3.9", "3.10"], (">=3.8",), "2022-06-01", ["3.10", "3.9", "3.8"]),
        (["3.9", "3.10"], ("<3.10,>=3.8",), "2023-01-01", ["3.9", "3.8"]),
        ([], (">=3.7",), "2022-06-01", ["3.10", "3.9", "3.8"]),
        ([], (), "2013-01-01", ["3.6", "3.7", "3.8"]),
        (["2.7", "3.3", "3.4"], (), "2014-06-01", ["3.6", "3.7", "3.8"]),
        (["3.4", "3.5"], (), "2019-03-01", ["3.6", "3.7", "3.8"]),
        (["3.13"], (), "2024-11-01", ["3.13", "3.12", "3.11"]),
        (["2.6", "2.7"], (), "2014-06-01", ["3.6"]),
        ([], (">=3.14",), "2026-01-01", []),
        ([], ("<3",), "2015-01-01", []),
    ],
)
def test_interpreters_by_what_the_project_names_and_the_date(supported, requires, date, chosen):
    found = choose_interpreters(ALL, requires_python=requires, supported=supported, effective=day(date))
    assert list(found)[: len(chosen)] == chosen
    assert chosen or not found


@given(
    st.lists(st.sampled_from(["2.7", "3.5", "3.6", "3.8", "3.10", "3.12"]), unique=True),
    st.datetimes(datetime(2008, 1, 1), datetime(2027, 1, 1)),  # noqa: DTZ001
    st.sampled_from([(), (">=3.7",), ("<3.10",), ("<3.8", ">=3.11")]),
)
def test_every_choice_is_here_allowed_and_no_younger_than_its_date(supported, moment, requires):
    effective = moment.replace(tzinfo=UTC)
    found = choose_interpreters(ALL, requires_python=requires, supported=supported, effective=effective)
    full = {v.version.rpartition(".")[0]: v.version for v in ALL}
    assert len(set(found)) == len(found) <= 3
    assert found
    for minor in found:
        assert minor in full
        assert not requires or any(SpecifierSet(spec).contains(full[minor]) for spec in requires)
        assert shifted_date(effective, minor) >= python_releases()[minor]


def test_settings_override_the_interpreter(tmp_path):
    files = {"setup.py": setup_py(classifiers=["Programming Language :: Python :: 3.9"])}
    assert {r.python for r in plan(tmp_path, files, python="3.7")} == {"3.7"}
    assert {r.python for r in plan(tmp_path, files, python="3.7.16")} == {"3.7"}
    assert plan(tmp_path, files, python="3.5") == ()


def test_project_that_no_interpreter_suits_has_no_recipe(tmp_path):
    assert plan(tmp_path, {"setup.py": setup_py(python_requires=">=3.14")}) == ()


# --- building ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("python", "date", "requires", "bound"),
    [
        ("3.6", "2019-01-01", (), "setuptools<60"),
        ("3.9", "2019-01-01", (), "setuptools>=64,<66"),
        ("3.11", "2023-06-01", ("setuptools>=45",), "setuptools>=64,<66"),
        ("3.11", "2023-06-01", ("setuptools>=68",), "setuptools>=64"),
        ("3.11", "2024-06-01", (), "setuptools>=64"),
        ("3.12", "2023-12-01", (), "setuptools>=66.2"),
    ],
)
def test_bound_on_setuptools(python, date, requires, bound):
    assert setuptools_bound(python, day(date), requires) == bound


@pytest.mark.parametrize(
    ("requires", "outdated"),
    [
        ("setuptools", False),
        ("setuptools>=40.8", False),
        ("setuptools~=62.6", True),
        ("setuptools~=67.6", False),
        ("setuptools<58", True),
        ("setuptools==59.*", True),
        ("setuptools==64.0.1", False),
        ("setuptools>=30,<70", False),
        ("setuptools~=62.6,!=62.7", True),
        ("flit_core>=2,<3", True),
        ("flit_core>=2,<4", False),
        ("poetry-core>=1.0.0", False),
        ("poetry>=0.12,<1", True),
        ("hatchling", False),
        ("unknown-backend<1", False),
    ],
)
def test_back_end_pinned_below_editable_installs_is_recognised(requires, outdated):
    assert bool(outdated_backends((requires,), "setuptools>=64,<66")) is outdated


def test_pinned_back_end_is_built_without_isolation_and_unpinned(tmp_path):
    toml = '[build-system]\nrequires = ["setuptools~=62.6", "wheel~=0.37"]\n[project]\nname = "demo"\n'
    best = plan(tmp_path, {"pyproject.toml": toml})[0]
    assert (best.build_isolation, best.build_requirements) == (False, ("setuptools", "wheel"))


def test_install_modes(tmp_path):
    old = {"setup.py": setup_py(classifiers=["Programming Language :: Python :: 3.6"])}
    assert plan(tmp_path / "a", old, "2018-01-01")[0].install == "legacy-editable"
    assert plan(tmp_path / "b", {"setup.py": setup_py()})[0].install == "editable"
    assert plan(tmp_path / "c", {"demo.py": "", "requirements.txt": "alpha\n"})[0].install == "path"
    modes = [recipe.install for recipe in plan(tmp_path / "d", {"setup.py": setup_py(), "demo.py": ""})]
    assert {"editable", "legacy-editable", "path"} <= set(modes)


def test_tree_that_is_no_package_brings_its_requirements_by_file(tmp_path):
    best = plan(
        tmp_path, {"demo.py": "", "requirements.txt": "alpha==1\n", "requirements-dev.txt": "mock\n"}
    )[0]
    assert set(best.requirements) == {"alpha==1", "mock", "pytest"}


def test_version_is_given_to_this_distribution_alone(tmp_path):
    toml = '[build-system]\nrequires=["setuptools_scm"]\n[project]\nname="My.Demo-x"\ndynamic=["version"]\n'
    best = plan(tmp_path, {"pyproject.toml": toml}, project_version="1.2")[0]
    assert best.variables == (("SETUPTOOLS_SCM_PRETEND_VERSION_FOR_MY_DEMO_X", "1.2"),)
    assert plan(tmp_path, {"pyproject.toml": toml})[0].variables == ()


def test_tables_of_a_tool_without_a_build_system_are_put_on_the_path(tmp_path):
    text = """
        [tool.poetry]
        name = "demo"
        [tool.poetry.dependencies]
        python = "^3.7"
        requests = "^2"
        """
    best = plan(tmp_path / "bare", {"pyproject.toml": text}, "2020-01-01")[0]
    assert (best.install, best.requirements) == ("path", ("pytest", "requests<3,>=2"))
    system = '[build-system]\nrequires = ["poetry-core"]\nbuild-backend = "poetry.core.masonry.api"\n'
    whole = {"pyproject.toml": system + textwrap.dedent(text)}
    assert plan(tmp_path / "whole", whole, "2020-01-01")[0].install == "editable"


# --- extension modules --------------------------------------------------------------------------------


def _pyproject(*requires, backend="setuptools.build_meta"):
    return f"[build-system]\nrequires = {list(requires)!r}\nbuild-backend = {backend!r}\n"


def test_tools_of_extension_modules_stay_at_hand_without_pins_for_wheels(tmp_path):
    files = {
        "setup.py": setup_py(),
        "demo/__init__.py": "",
        "demo/_fast.pyx": "",
        "pyproject.toml": _pyproject("setuptools", "wheel", "cython==0.29.22", "oldest-supported-numpy"),
    }
    best = plan(tmp_path / "a", files)[0]
    assert best.requirements == ("pytest", "cython", "numpy")
    del files["demo/_fast.pyx"]
    assert plan(tmp_path / "b", files)[0].requirements == ("pytest",)


def test_compiled_file_among_test_data_makes_no_compiled_project(tmp_path):
    files = {
        "setup.py": setup_py(),
        "demo/__init__.py": "",
        "tests/data/a.c": "",
        "pyproject.toml": _pyproject("setuptools", "cython"),
    }
    assert plan(tmp_path, files)[0].requirements == ("pytest",)


def test_pins_of_numpy_for_wheels_never_make_a_build_compile_an_old_numpy(tmp_path):
    files = {
        "setup.py": setup_py(install_requires=["numpy"]),
        "demo/__init__.py": "",
        "demo/src/fast.c": "",
        "pyproject.toml": _pyproject(
            "setuptools",
            "cython<3",
            "numpy==1.13.3; python_version=='3.6'",
            "numpy==1.14.5; python_version>='3.7'",
        ),
    }
    plans = plan(tmp_path, files)
    assert not plans[0].build_isolation
    assert plans[0].build_requirements == ("setuptools", "cython<3", "numpy")
    assert any(one.build_isolation and not one.build_requirements for one in plans)


def test_back_end_that_builds_on_import_keeps_its_tools(tmp_path):
    files = {
        "demo/__init__.py": "",
        "demo/_fast.pyx": "",
        "pyproject.toml": _pyproject("meson-python>=0.13", "numpy>=2.0.0rc1", backend="mesonpy")
        + '[project]\nname = "demo"\nversion = "1"\n',
    }
    best = plan(tmp_path, files, "2025-01-01")[0]
    assert not best.build_isolation
    assert best.build_requirements == ("meson-python>=0.13", "numpy", "ninja")


# --- alternatives ----------------------------------------------------------------------------------------


def test_tries_are_ordered_and_each_is_different(tmp_path):
    files = {
        "setup.py": setup_py(
            tests_require=["pytest==6.2", "alpha==1"],
            classifiers=["Programming Language :: Python :: 3.8", "Programming Language :: Python :: 3.9"],
        ),
        ".github/workflows/ci.yml": WORKFLOW,
        "demo/__init__.py": "import beta, numpy\n",
    }
    recipes = plan(tmp_path, files)
    assert len(set(recipes)) == len(recipes)
    assert [r.python for r in recipes[:3]] == ["3.9"] * 3
    assert recipes[1] == replace(recipes[0], optional=())
    assert (recipes[2].requirements, set(recipes[2].optional)) == (
        ("pytest", "numpy"),
        {"alpha", "pytest-mock"},
    )
    assert recipes[3].python == "3.8"


def test_pins_of_a_lock_file_are_given_up_before_anything_else(tmp_path):
    files = {
        "pyproject.toml": """
            [build-system]
            requires = ["hatchling"]
            build-backend = "hatchling.build"
            [project]
            name = "demo"
            [dependency-groups]
            test = ["pytest>=8", "alpha"]
            """,
        "uv.lock": '[[package]]\nname = "alpha"\nversion = "1"\n',
        ".github/workflows/ci.yml": WORKFLOW,
        "demo/__init__.py": "import beta\n",
    }
    best, unlocked, plain, *others = plan(tmp_path, files, "2024-06-01")
    assert (best.constraints, bool(best.optional)) == (("alpha==1",), True)
    assert unlocked == replace(best, constraints=())
    assert plain == replace(best, constraints=(), optional=())
    assert {bool(r.constraints) for r in others if r.python == best.python} == {False}


def test_same_input_gives_the_same_recipes(tmp_path):
    files = {"setup.py": setup_py(extras_require={"test": ["pytest"]}), ".github/workflows/ci.yml": WORKFLOW}
    first, second = plan(tmp_path / "a", files), plan(tmp_path / "b", files)
    assert [r.content_hash() for r in first] == [r.content_hash() for r in second]


@pytest.mark.parametrize(
    ("texts", "tidied"),
    [
        (["a", "a>=1"], ("a>=1",)),
        (["a<5", "b", "a~=7.1"], ("a", "b")),
        (["a>=1", "a<2"], ("a>=1", "a<2")),
        (["a", "A"], ("a", "A")),
        (['a==1; python_version < "3"', 'a==2; python_version >= "3"'], None),
        (["a", 'a==1; python_version < "3"'], ("a", 'a==1; python_version < "3"')),
    ],
)
def test_set_is_tidied_without_losing_a_bound_that_holds(texts, tidied):
    assert tidy(texts) == (tuple(texts) if tidied is None else tidied)


VERSIONS = st.integers(0, 9).map(str) | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
    lambda t: f"{t[0]}.{t[1]}"
)


@given(st.lists(st.tuples(st.sampled_from(["==", ">=", "<=", "<", ">", "!="]), VERSIONS), max_size=3))
def test_set_that_some_plain_version_meets_is_never_called_contradictory(bounds):
    spec = SpecifierSet(",".join(f"{operator}{version}" for operator, version in bounds))
    grid = [f"{major}.{minor}.{micro}" for major in range(11) for minor in range(11) for micro in (0, 1)]
    if any(spec.contains(version) for version in grid):
        assert can_be_met(spec)


def test_unpinned_keeps_everything_but_the_pin():
    assert unpinned('a[x]==1,!=2; python_version < "3"') == 'a[x]!=2; python_version < "3"'
    assert one_each(["a==1", "a", "b==2"]) == ("a", "b==2")

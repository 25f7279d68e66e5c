"""From facts to recipes: what is installed in which tier, extras, and who runs the tests."""

from evidence_trees import make_tree
from planned import WORKFLOW, plan, setup_py

from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.facts import collect_facts

# --- extras that collect others -------------------------------------------------------------------------


def test_one_dead_feature_of_many_does_not_rule_the_tests_out(tmp_path):
    extras = {"s3": ["boto3"], "ssh": ["paramiko"], "all": ["boto3", "paramiko"], "tests": ["mock"]}
    files = {
        "setup.py": setup_py(extras_require=extras),
        "tox.ini": "[testenv]\nextras = all\n    tests\n",
        "tests/test_a.py": "import paramiko\n",
    }
    plans = plan(tmp_path, files)
    assert plans[0].extras == ("all", "tests")
    assert plans[1].extras == ("tests",)
    assert plans[1].optional == ("paramiko",)


# --- what is installed ---------------------------------------------------------------------------------


def test_runner_is_always_there_and_as_young_as_the_project_asks(tmp_path):
    assert plan(tmp_path / "a", {"setup.py": setup_py()})[0].requirements == ("pytest",)
    files = {"setup.py": setup_py(), "pytest.ini": "[pytest]\nminversion = 6.0\n"}
    assert plan(tmp_path / "b", files)[0].requirements == ("pytest>=6.0",)


def test_project_that_is_the_runner_is_not_shadowed_by_a_released_one(tmp_path):
    files = {
        "setup.py": setup_py(name="pytest", extras_require={"testing": ["mock"]}),
        "tox.ini": "[tox]\nenvlist=py39\n[testenv]\nextras=testing\ndeps = pytest-cov\n    pytest\n",
    }
    for recipe in plan(tmp_path, files):
        assert "pytest" not in {name_of(text) for text in (*recipe.requirements, *recipe.optional)}


def test_extra_that_a_requirement_file_names_is_installed(tmp_path):
    files = {"setup.py": setup_py(extras_require={"socks": ["alpha"]})}
    files["requirements-dev.txt"] = "-e .[socks]\npytest\n"
    best = plan(tmp_path, files)[0]
    assert (best.extras, best.requirements) == (("socks",), ("pytest",))


def test_test_extra_comes_before_dev_and_docs_never(tmp_path):
    extras = {"test": ["pytest"], "dev": ["tox", "black"], "docs": ["sphinx"], "lint": ["flake8"]}
    assert plan(tmp_path / "a", {"setup.py": setup_py(extras_require=extras)})[0].extras == ("test",)
    del extras["test"]
    extras["dev"] = ["mock", "black", "demo[fast]"]
    extras["fast"] = ["alpha"]
    best = plan(tmp_path / "b", {"setup.py": setup_py(extras_require=extras)})[0]
    assert (best.extras, set(best.requirements)) == ((), {"mock", "alpha", "pytest"})


def test_extra_named_by_tox_counts_even_if_it_can_not_be_found(tmp_path):
    files = {"setup.py": setup_py(), "tox.ini": "[tox]\nenvlist=py39\n[testenv]\nextras = testing\n"}
    assert plan(tmp_path, files)[0].extras == ("testing",)


def test_own_name_addresses_and_linters_are_dropped(tmp_path):
    tox = """
    [tox]
    envlist = py39
    [testenv]
    deps =
        pytest
        Demo
        git+https://host/alpha.git
        -e .
        flake8
        types-x
        sphinx-theme
        codecov
        pip
        mock
    """
    best = plan(tmp_path, {"setup.py": setup_py(), "tox.ini": tox})[0]
    assert best.requirements == ("pytest", "mock")


def test_linter_that_tests_import_is_kept(tmp_path):
    files = {
        "setup.py": setup_py(tests_require=["pytest", "mypy", "sphinx"]),
        "tests/test_a.py": "import mypy\n",
    }
    assert plan(tmp_path, files)[0].requirements == ("pytest", "mypy")


def test_names_of_ci_are_optional_and_only_if_imported(tmp_path):
    files = {
        "setup.py": setup_py(),
        ".github/workflows/ci.yml": WORKFLOW,
        "demo/__init__.py": "try:\n    import alpha, numpy\nexcept ImportError: pass\n",
    }
    best, plain = plan(tmp_path, files)[:2]
    assert best.requirements == ("numpy", "pytest")
    assert best.optional == ("alpha", "pytest-mock")
    assert (plain.requirements, plain.optional) == (best.requirements, ())


def test_very_large_names_of_ci_come_only_with_a_test_that_imports_them(tmp_path):
    files = {
        "setup.py": setup_py(),
        ".github/workflows/ci.yml": WORKFLOW.replace("alpha", "tensorflow"),
        "demo/__init__.py": "import tensorflow\n",
    }
    assert "tensorflow" not in plan(tmp_path / "a", files)[0].optional
    tests = {"tests/test_a.py": "def test_a():\n    import tensorflow\n"}
    assert "tensorflow" in plan(tmp_path / "b", files, tests=tests)[0].optional


def test_conda_file_of_the_chosen_python_is_taken(tmp_path):
    body = "channels: [c]\ndependencies: [python={}, {}]\n"
    files = {
        "setup.py": setup_py(classifiers=["Programming Language :: Python :: 3.9"]),
        "ci/py38.yml": body.format("3.8", "beta"),
        "ci/py39.yml": body.format("3.9", "alpha=1.2"),
        "demo/__init__.py": "import alpha, beta\n",
    }
    assert plan(tmp_path, files)[0].optional == ("alpha==1.2.*",)


def test_changed_tests_bring_what_they_import_if_it_is_known(tmp_path):
    files = {
        "setup.py": setup_py(install_requires=["six"], extras_require={"fast": ["Gamma-Ray==1.0"]}),
        "tests/helper.py": "",
    }
    source = """
import yaml, os, six, helper, stranger
import gamma_ray
try:
    import numpy
except ImportError:
    pass
def test_a(mocker): ...
"""
    best = plan(tmp_path, files, tests={"tests/test_a.py": source})[0]
    assert set(best.requirements) == {"PyYAML", "Gamma-Ray", "pytest"}
    assert set(best.optional) == {"numpy", "pytest-mock"}


def test_everything_that_the_files_name_can_be_asked_for(tmp_path):
    files = {
        "setup.py": setup_py(install_requires=["alpha"], extras_require={"x": ["beta"]}),
        "tox.ini": "[tox]\nenvlist=py39\n[testenv]\ndeps =\n  old: gamma\n[testenv:docs]\ndeps = delta\n",
        ".github/workflows/ci.yml": WORKFLOW.replace("alpha", "epsilon"),
        "requirements-dev.txt": "zeta\n",
    }
    facts = collect_facts(make_tree(tmp_path, files))
    assert {"alpha", "beta", "gamma", "delta", "epsilon", "zeta"} <= set(facts.named())


def test_english_word_or_unknown_import_is_never_installed(tmp_path):
    source = "import to, some_private_helper\n"
    best = plan(tmp_path, {"setup.py": setup_py()}, tests={"test_a.py": source})[0]
    assert (best.requirements, best.optional) == (("pytest",), ())


def test_fixture_that_the_tests_define_themselves_needs_no_plugin(tmp_path):
    files = {
        "setup.py": setup_py(),
        "tests/conftest.py": "import pytest\n@pytest.fixture\ndef benchmark(): ...\n",
    }
    best = plan(tmp_path, files, tests={"tests/test_a.py": "def test_a(benchmark): ...\n"})[0]
    assert best.optional == ()


def test_groups_for_tests_are_taken_and_others_are_not(tmp_path):
    toml = """
    [project]
    name = "demo"
    [dependency-groups]
    tests = ["pytest>=7", {include-group = "more"}]
    more = ["mock"]
    docs = ["sphinx"]
    lint = ["ruff"]
    dev = ["ipdb", "alpha"]
    """
    assert plan(tmp_path, {"pyproject.toml": toml})[0].requirements == ("pytest>=7", "mock")


def test_dev_group_serves_where_nothing_is_for_tests(tmp_path):
    toml = '[tool.poetry]\nname="demo"\n[tool.poetry.dev-dependencies]\npytest="^6.0"\nblack="*"\nmock="*"\n'
    assert plan(tmp_path, {"pyproject.toml": toml})[0].requirements == ("pytest<7,>=6.0", "mock")


def test_requirement_files_serve_only_where_nothing_names_a_runner(tmp_path):
    files = {"setup.py": setup_py(), "requirements-dev.txt": "pytest==6.0\nblack\n-r requirements.txt\n"}
    files["requirements.txt"] = "alpha\n"
    assert plan(tmp_path / "a", files)[0].requirements == ("pytest==6.0", "alpha")
    files["tox.ini"] = "[tox]\nenvlist=py39\n[testenv]\ndeps = pytest\n"
    assert plan(tmp_path / "b", files)[0].requirements == ("pytest",)


# --- who runs the tests -------------------------------------------------------------------------------------

RUNTESTS = "import django\nfrom django.test.utils import get_runner\noptions = '--parallel'\n"
MANAGE = "import os\nos.environ['DJANGO_SETTINGS_MODULE'] = 'a'\nfrom django.core.management import execute_from_command_line\n"


def runners(recipes):
    return [" ".join(recipe.test_command) for recipe in dict.fromkeys(recipes)]


def test_script_that_sets_django_up_runs_the_tests_where_nothing_mentions_pytest(tmp_path):
    files = {
        "setup.py": setup_py(),
        "tests/runtests.py": RUNTESTS,
        "tests/requirements/py3.txt": "numpy\nselenium\n",
    }
    first, *others = plan(tmp_path, files)
    assert (first.test_framework, first.test_command) == (
        "django",
        ("python", "tests/runtests.py", "--parallel=1"),
    )
    assert first.requirements == ()
    assert set(first.optional) == {"numpy", "selenium"}
    fallback = next(recipe for recipe in others if recipe.test_framework == "pytest")
    assert "pytest" in fallback.requirements


def test_requirements_of_a_tree_that_is_no_package_stay_with_its_script(tmp_path):
    first = plan(tmp_path, {"manage.py": MANAGE, "requirements.txt": "Django==3.2\n"})[0]
    assert first.test_command == ("python", "manage.py", "test", "--noinput")
    assert first.requirements == ("Django==3.2",)


def test_package_that_depends_on_django_is_resolved_together_with_what_its_files_bound(tmp_path):
    files = {
        "setup.py": setup_py(install_requires=["Django"]),
        "runtests.py": RUNTESTS,
        "tox.ini": "[testenv]\ndeps = Django<4\ncommands = python runtests.py\n",
    }
    assert plan(tmp_path, files)[0].requirements == ("Django<4",)


def test_pytest_runs_what_mentions_it_and_the_script_is_what_to_fall_back_to(tmp_path):
    files = {"setup.py": setup_py(), "runtests.py": RUNTESTS, "tox.ini": "[testenv]\ncommands = pytest\n"}
    assert runners(plan(tmp_path, files))[:1] == ["python -m pytest"]
    assert "python runtests.py --parallel=1" in runners(plan(tmp_path, files))


def test_script_that_knows_no_django_runs_nothing(tmp_path):
    files = {
        "setup.py": setup_py(),
        "runtests.py": "import unittest\nunittest.main()\n",
        "docs/manage.py": MANAGE,
    }
    assert {recipe.test_framework for recipe in plan(tmp_path, files)} == {"pytest", "unittest"}


def test_unittest_is_the_last_resort_of_suites_that_name_no_runner(tmp_path):
    recipes = plan(tmp_path, {"setup.py": setup_py(), "tests/test_a.py": "import unittest\n"})
    assert recipes[0].test_framework == "pytest"
    fallback = next(recipe for recipe in recipes if recipe.test_framework == "unittest")
    assert fallback.test_command == ("python", "-m", "unittest")
    assert "pytest" not in fallback.requirements
    mentioned = plan(tmp_path / "b", {"setup.py": setup_py(), "Makefile": "test:\n\tpytest\n"})
    assert {recipe.test_framework for recipe in mentioned} == {"pytest"}

"""Repair rules: each with the log line that it was made for, and what must never come of a log."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.environment.repair import Stage, propose, repair_rules
from reconstruct.environment.repair_actions import ACTIONS, RepairContext
from swequarry.records import Recipe

CUTOFF = datetime(2021, 6, 1, tzinfo=UTC)
RECIPE = Recipe(
    python="3.9",
    cutoff=CUTOFF,
    project_name="demo",
    requirements=("pytest", "oldtool==1.0", "coverage<5"),
    optional=("heavy", "pytest-extra"),
    build_constraints=("setuptools>=64,<66",),
)
CONTEXT = RepairContext(
    named=frozenset({"oddname"}),
    imported=frozenset({"numpy", "yaml"}),
    own_modules=frozenset({"demo"}),
    build_requires=("cython",),
)
NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: "

CASES: dict[str, tuple[str, dict[str, object]]] = {
    "uploaded-again-later": (
        "[swequarry] every file of atomicwrites is newer than the cut-off; earliest 2022-07-08T18:31:40+00:00",
        {"exempt": (("atomicwrites", datetime(2022, 7, 15, 18, 31, 40, tzinfo=UTC)),)},
    ),
    "own-version-unknown": (
        "[swequarry] the project says version 0.1.dev1+g1234567, the nearest tag is 1.4.2",
        {"variables": (("SETUPTOOLS_SCM_PRETEND_VERSION_FOR_DEMO", "1.4.2"),)},
    ),
    "no-date-in-index": ("undated: beta 3 files", {"exempt": (("beta", CUTOFF),)}),
    "setuptools-without-2to3": (
        "         error in suds-jurko setup command: use_2to3 is invalid.",
        {"build_constraints": ("setuptools<58",)},
    ),
    "old-metadata-refused": (
        "setuptools.extern.packaging.version.InvalidVersion: Invalid version: '1.0-dev-r1'",
        {"build_constraints": ("setuptools<66",)},
    ),
    "set-up-imports-undeclared": (
        (
            "error: Failed to build `demo @ file:///testbed`\n"
            "  cause: The build backend returned an error\n"
            "  cause: Call to `setuptools.build_meta:__legacy__.build_editable` failed (exit status: 1)\n"
            "[stderr]\n"
            "Traceback (most recent call last):\n"
            '  File "<string>", line 24, in <module>\n'
            "ModuleNotFoundError: No module named 'numpy'\n"
        ),
        {"build_isolation": False, "build_requirements": ("cython", "numpy")},
    ),
    "build-needs-younger-setuptools": (
        (
            "  cause: Failed to resolve requirements from `build-system.requires`\n"
            "  cause: No solution found when resolving: `setuptools>=68`\n"
            "  cause: Because you require setuptools>=68 and setuptools>=64,<66, we can conclude that your"
        ),
        {"build_constraints": ("setuptools>=68",)},
    ),
    "build-pins-old-setuptools": (
        (
            "error: Failed to build `demo @ file:///testbed`\n"
            "  cause: Failed to resolve requirements from `build-system.requires`\n"
            "  cause: No solution found when resolving: `setuptools~=62.6`\n"
        ),
        {"build_isolation": False},
    ),
    "setuptools-of-old-python": (
        "does not satisfy Python>=3.7 and setuptools>=64.0.0,<=65.7.0 depends on Python>=3.7, we can conclude",
        {"build_constraints": ("setuptools<60",)},
    ),
    "runtime-needs-younger-setuptools": (
        NO_SOLUTION + "Because you require setuptools>=66 and setuptools>=64,<66, we can conclude that your",
        {"build_constraints": ("setuptools>=64",)},
    ),
    "back-end-without-editable": (
        "AttributeError: module 'setuptools.build_meta' has no attribute 'build_editable'",
        {"install": "legacy-editable"},
    ),
    "no-setup-py": (
        "/opt/swequarry/env/bin/python: can't open file '/testbed/setup.py': [Errno 2] No such file or directory",
        {"install": "path"},
    ),
    "interpreter-too-old": (
        NO_SOLUTION
        + "Because the current Python version (3.6.15) does not satisfy Python>=3.8 and oldtool==1.0 "
        "depends on Python>=3.8, we can conclude that oldtool==1.0 cannot be used.",
        {"requirements": ("pytest", "coverage<5")},
    ),
    "not-in-index": (
        NO_SOLUTION + "Because heavy was not found in the package registry and you require heavy, we can",
        {"optional": ("pytest-extra",)},
    ),
    "pinned-version-not-in-index": (
        NO_SOLUTION
        + "Because there is no version of oldtool==1.0 and you require oldtool==1.0, we can conclude",
        {"requirements": ("pytest", "oldtool", "coverage<5")},
    ),
    "released-after-cut-off": (
        NO_SOLUTION
        + "Because only pandas<=2.0.1 is available and you require pandas>=3, we can conclude that",
        {"exempt": (("pandas", CUTOFF + timedelta(days=180)),)},
    ),
    "build-fails": (
        "error: Failed to build `oldtool==1.0`\n  cause: The build backend returned an error",
        {"requirements": ("pytest", "coverage<5")},
    ),
    "build-fails-below-another": (
        "hint: `cnative` (v2.0) was included because `oldtool` (v1.0) depends on `cnative`",
        {"requirements": ("pytest", "coverage<5")},
    ),
    "requirements-conflict": (
        NO_SOLUTION
        + "Because all versions of pytest-cov depend on coverage>=5.2.1 and you require coverage<5",
        {"requirements": ("pytest", "oldtool==1.0", "coverage")},
    ),
    "editable-build-fails": (
        "  cause: Call to `setuptools.build_meta.build_editable` failed (exit status: 1)",
        {"install": "legacy-editable"},
    ),
    "project-build-fails": (
        "error: Failed to build `demo @ file:///testbed`\n  cause: The build backend returned an error",
        {"build_isolation": False},
    ),
    "module-missing": (
        "E   ModuleNotFoundError: No module named 'yaml'",
        {"requirements": (*RECIPE.requirements, "PyYAML")},
    ),
    "extra-missing": (
        "E         pip install heavy[array] --upgrade  # or pip install",
        {"optional": ("heavy[array]", "pytest-extra")},
    ),
    "skipped-for-import": (
        "SKIPPED [1] tests/test_a.py:3: could not import 'numpy': No module named 'numpy'",
        {"optional": (*RECIPE.optional, "numpy")},
    ),
    "skipped-as-unavailable": (
        "SKIPPED [7] demo/tests/test_handlers.py:44: Numpy is not available",
        {"optional": (*RECIPE.optional, "numpy")},
    ),
    "skipped-as-requiring": (
        "SKIPPED [4] tests/conftest.py:100: requires numpy",
        {"optional": (*RECIPE.optional, "numpy")},
    ),
    "fixture-missing": (
        "E       fixture 'mocker' not found",
        {"requirements": (*RECIPE.requirements, "pytest-mock")},
    ),
    "option-unknown": (
        "pytest: error: unrecognized arguments: --cov=demo --cov-report=term -n auto --nonsense",
        {"requirements": (*RECIPE.requirements, "pytest-cov", "pytest-xdist")},
    ),
    "plugins-demanded": (
        "ERROR: Missing required plugins: pytest-mock>=1, not-a-known-plugin",
        {"requirements": (*RECIPE.requirements, "pytest-mock>=1")},
    ),
    "plugin-module-missing": (
        'ImportError: Error importing plugin "pytest_cov": nothing there',
        {"requirements": (*RECIPE.requirements, "pytest-cov")},
    ),
    "setting-unknown": (
        "  PytestConfigWarning: Unknown config option: asyncio_mode",
        {"optional": (*RECIPE.optional, "pytest-asyncio")},
    ),
    "marker-unknown": (
        "'asyncio' not found in `markers` configuration option",
        {"requirements": (*RECIPE.requirements, "pytest-asyncio")},
    ),
    "addopts-unusable": (
        "pytest: error: unrecognized arguments: --no-plugin-has-this",
        {"test_command": ("python", "-m", "pytest", "-o", "addopts=")},
    ),
    "numpy-binary-changed": (
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header",
        {"constraints": ("numpy<2",)},
    ),
    "numpy-names-removed": (
        "AttributeError: module 'numpy' has no attribute 'bool'",
        {"constraints": ("numpy<1.23",)},
    ),
    "numpy-2-names-removed": (
        "AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.",
        {"constraints": ("numpy<2",)},
    ),
    "markupsafe-soft-unicode": (
        "ImportError: cannot import name 'soft_unicode' from 'markupsafe' (/opt/x/markupsafe/__init__.py)",
        {"constraints": ("markupsafe<2.1",)},
    ),
    "jinja2-names-moved": (
        "ImportError: cannot import name 'Markup' from 'jinja2' (/opt/x/jinja2/__init__.py)",
        {"constraints": ("jinja2<3.1",)},
    ),
    "werkzeug-names-moved": (
        "ImportError: cannot import name 'url_quote' from 'werkzeug.urls' (/opt/x/werkzeug/urls.py)",
        {"constraints": ("werkzeug<2.1",)},
    ),
    "importlib-metadata-select": (
        "AttributeError: 'EntryPoints' object has no attribute 'get'",
        {"constraints": ("importlib-metadata<5",)},
    ),
    "fixture-called-directly": (
        'Fixture "client" called directly. Fixtures are not meant to be called directly,',
        {"constraints": ("pytest<4",)},
    ),
    "marker-by-get-marker": (
        "AttributeError: 'Function' object has no attribute 'get_marker'",
        {"constraints": ("pytest<4",)},
    ),
    "collection-node-from-parent": (
        "Direct construction of tests.conftest.YamlFile has been deprecated, please use YamlFile.from_parent.",
        {"constraints": ("pytest<6",)},
    ),
    "hook-with-py-path": (
        "The (path: py.path.local) argument is deprecated, please use (collection_path: pathlib.Path)",
        {"constraints": ("pytest<7",)},
    ),
}
OTHER_INTERPRETER = {
    "stdlib-moved": "ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/python3.10/collections/__init__.py)",
    "stdlib-removed": "ModuleNotFoundError: No module named 'imp'",
    "runner-older-than-interpreter": "TypeError: Call constructor takes at most 3 positional arguments",
}
RULES = {rule.id: rule for rule in repair_rules()}


def test_every_rule_has_a_log_line_that_it_was_made_for():
    assert set(RULES) == set(CASES) | set(OTHER_INTERPRETER)
    assert len(RULES) == len(repair_rules()), "ids are unique"


def test_every_action_is_used_by_a_rule():
    assert {rule.action for rule in repair_rules()} == set(ACTIONS) - {"next_interpreter"} | {
        "next_interpreter"
    }


@pytest.mark.parametrize("rule", CASES)
def test_rule_makes_of_its_log_line_what_it_should(rule):
    line, changes = CASES[rule]
    log, chosen = f"before\n{line}\nafter\n".encode(), RULES[rule]
    repair = propose(RECIPE, log, chosen.stage, CONTEXT, only_improve=chosen.improves)
    assert repair is not None
    assert repair.recipe == replace(RECIPE, **changes)
    assert rule in repair.rule.split("+") or rule == "plugin-module-missing"
    assert repair.line


@pytest.mark.parametrize("rule", OTHER_INTERPRETER)
def test_rule_gives_the_interpreter_up(rule):
    repair = propose(RECIPE, OTHER_INTERPRETER[rule].encode(), Stage.TRIAL, CONTEXT)
    assert repair is not None
    assert (repair.rule, repair.recipe) == (rule, None)


def test_interpreter_too_old_for_the_project_itself_means_another_one():
    line = "Because the current Python version (3.6.15) does not satisfy Python>=3.8 and demo==1.0 depends on"
    repair = propose(RECIPE, line.encode(), Stage.BUILD, CONTEXT)
    assert repair is not None
    assert repair.recipe is None


# --- what must never happen -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "ModuleNotFoundError: No module named 'somebody_elses_package'",
        "could not import 'to': No module named 'to'",
        "SKIPPED [1] t.py:1: requires to",
        "SKIPPED [1] t.py:1: needs network",
        "SKIPPED [1] t.py:1: no data available",
        "ModuleNotFoundError: No module named 'demo.missing'",
        "ModuleNotFoundError: No module named 'demo'",
        "ModuleNotFoundError: No module named '_socket'",
        "fixture 'my_own' not found",
        "ERROR: Missing required plugins: os-package-of-nobody",
    ],
)
def test_unknown_name_is_never_installed(line):
    repair = propose(RECIPE, line.encode(), Stage.TRIAL, CONTEXT)
    assert repair is None or repair.recipe is None


def test_well_known_word_in_prose_is_not_installed_unless_tests_import_it():
    line = b"SKIPPED [1] t.py:1: pandas is not installed"
    assert propose(RECIPE, line, Stage.TRIAL, CONTEXT) is None
    with_import = replace(CONTEXT, imported=frozenset({"pandas"}))
    assert propose(RECIPE, line, Stage.TRIAL, with_import) is not None


def test_module_that_the_repository_names_is_installed():
    repair = propose(RECIPE, b"No module named 'oddname'", Stage.TRIAL, CONTEXT)
    assert repair is not None
    assert repair.recipe is not None
    assert repair.recipe.requirements[-1] == "oddname"


def test_module_that_set_up_code_of_a_dependency_lacks_is_not_the_projects_matter():
    log = (
        "error: Failed to build `oldtool==1.0`\n  cause: Call to `setuptools.build_meta.build_wheel` failed\n"
        "  File \"/tmp/x/setup.py\", line 3, in <module>\nModuleNotFoundError: No module named 'numpy'\n"
    )
    repair = propose(RECIPE, log.encode(), Stage.BUILD, CONTEXT)
    assert repair is not None
    assert repair.rule == "build-fails"


def test_unknown_module_of_set_up_code_is_never_installed():
    log = "error: Failed to build `demo @ file:///testbed`\nModuleNotFoundError: No module named 'nobodys'\n"
    repair = propose(RECIPE, log.encode(), Stage.BUILD, CONTEXT)
    assert repair is not None
    assert repair.rule == "project-build-fails"


def test_what_a_person_said_is_never_loosened():
    def hold(recipe):
        return replace(recipe, requirements=("pytest", "oldtool==1.0", "coverage<5"))

    log = (NO_SOLUTION + "Because oldtool==1.0 depends on coverage>=5 and you require coverage<5").encode()
    free = propose(RECIPE, log, Stage.BUILD, CONTEXT)
    assert free is not None
    assert free.recipe != RECIPE
    assert propose(RECIPE, log, Stage.BUILD, replace(CONTEXT, hold=hold)) is None


def test_own_distribution_is_never_required():
    own = replace(RECIPE, project_name="PyYAML")
    assert propose(own, b"No module named 'yaml'", Stage.TRIAL, CONTEXT) is None


@given(st.text(max_size=200))
def test_any_log_gives_a_recipe_without_new_unknown_names(text):
    for stage in Stage:
        repair = propose(RECIPE, text.encode("utf-8", "surrogatepass"), stage, RepairContext())
        if repair is not None and repair.recipe is not None:
            assert repair.recipe != RECIPE


@given(st.from_regex(r"No module named '[a-z_]{1,12}'", fullmatch=True))
def test_without_table_or_repository_no_module_is_installed(line):
    repair = propose(RECIPE, line.encode(), Stage.TRIAL, RepairContext())
    if repair is not None and repair.recipe is not None:
        from reconstruct.environment.knowledge import import_distributions, plugin_table

        known = {*import_distributions().values(), *plugin_table().modules.values()}
        assert set(repair.recipe.requirements) - set(RECIPE.requirements) <= known


# --- the course of a search -----------------------------------------------------------------------------


def test_three_missing_modules_cost_one_build():
    log = b"No module named 'numpy'\nNo module named 'yaml'\nfixture 'mocker' not found\n"
    repair = propose(RECIPE, log, Stage.TRIAL, CONTEXT)
    assert repair is not None
    assert repair.recipe is not None
    assert repair.recipe.requirements[3:] == ("numpy", "PyYAML", "pytest-mock")
    assert repair.rule == "module-missing+fixture-missing"


def test_what_was_tried_is_not_proposed_again():
    log = (NO_SOLUTION + "Because heavy was not found in the package registry and you require heavy").encode()
    first = propose(RECIPE, log, Stage.BUILD, CONTEXT)
    assert first is not None
    assert first.recipe is not None
    again = propose(RECIPE, log, Stage.BUILD, CONTEXT, {first.recipe.content_hash()})
    assert again is None or again.recipe != first.recipe


def test_good_trial_is_only_bettered_by_rules_for_skips():
    log = b"E   ModuleNotFoundError: No module named 'yaml'\nE AttributeError: module 'numpy' has no attribute 'bool'\n"
    assert propose(RECIPE, log, Stage.TRIAL, CONTEXT, only_improve=True) is None
    skip = b"SKIPPED [1] a.py:1: could not import 'yaml': nothing"
    repair = propose(RECIPE, skip, Stage.TRIAL, CONTEXT, only_improve=True)
    assert repair is not None
    assert repair.recipe is not None
    assert repair.recipe.requirements == RECIPE.requirements, "what works already isn't put at risk"
    assert propose(repair.recipe, skip, Stage.TRIAL, CONTEXT, only_improve=True) is None


def test_conflicts_loosen_until_nothing_of_ours_is_left_and_keep_the_runner():
    log = (NO_SOLUTION + "Because pytest and oldtool and coverage and demo contradict").encode()
    recipe, rules = RECIPE, []
    for _ in range(20):
        repair = propose(recipe, log, Stage.BUILD, CONTEXT)
        if repair is None or repair.recipe is None:
            break
        recipe = repair.recipe
        rules.append(repair.rule)
    assert recipe.requirements == ("pytest",)
    assert set(rules) == {"requirements-conflict"}


def test_terminal_colours_hide_nothing():
    repair = propose(RECIPE, b"\x1b[31mE  No module named '\x1b[1myaml'\x1b[0m", Stage.TRIAL, CONTEXT)
    assert repair is not None


@pytest.mark.timeout(20)
def test_huge_and_hostile_log_is_read_in_bounded_time():
    log = (b"Failed to build `" * 20_000) + (b"requires " * 50_000) + b"Because " * 50_000
    propose(RECIPE, log, Stage.BUILD, CONTEXT)
    propose(RECIPE, log, Stage.TRIAL, CONTEXT)

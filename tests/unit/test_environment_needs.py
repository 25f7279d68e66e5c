"""From facts to requirements: what must be installed, what may, and what never can be here."""

import textwrap

import pytest
from evidence_trees import make_tree

from reconstruct.environment.evidence.requirement_lines import name_of
from reconstruct.environment.facts import collect_facts
from reconstruct.environment.knowledge import is_of_no_use
from reconstruct.environment.needs import choose_needs
from reconstruct.environment.requirement_sets import agreeing

SETUP = "from setuptools import setup\nsetup(name='demo')\n"


def needs_of(root, files, python="3.9", tests=None):
    facts = collect_facts(make_tree(root, {k: textwrap.dedent(v) for k, v in files.items()}))
    return choose_needs(facts, python, tests or {})


def names(texts):
    return {name_of(text) for text in texts}


# --- what can't be installed -------------------------------------------------------------------------


def test_package_of_another_system_without_a_marker_is_left_out(tmp_path):
    files = {"setup.py": SETUP, "test-requirements.txt": "pytest\npywin32==225\npyobjc-core\nmock\n"}
    assert needs_of(tmp_path, files).requirements == ("pytest", "mock")


def test_package_of_another_system_with_a_marker_stays_as_it_is(tmp_path):
    files = {"setup.py": SETUP, "test-requirements.txt": "pytest\npywin32; sys_platform == 'win32'\n"}
    assert needs_of(tmp_path, files).requirements == ("pytest", 'pywin32; sys_platform == "win32"')


@pytest.mark.parametrize(
    ("python", "expected"), [("3.6", {"pytest", "dataclasses", "contextvars"}), ("3.7", {"pytest"})]
)
def test_backport_of_what_the_python_has_is_left_out(tmp_path, python, expected):
    lines = "pytest\nenum34>1.1\nfutures\ndataclasses\ncontextvars\n"
    found = needs_of(tmp_path, {"setup.py": SETUP, "test-requirements.txt": lines}, python)
    assert names(found.requirements) == expected


def test_every_backport_counts_from_its_first_version_on():
    assert not is_of_no_use("dataclasses", "3.6")
    assert is_of_no_use("dataclasses", "3.10")
    assert not is_of_no_use("requests", "3.10")


def test_what_is_built_against_system_libraries_is_never_a_must(tmp_path):
    files = {"setup.py": SETUP, "test-requirements.txt": "pytest\npylibmc==1.6\npsycopg2\nmock\n"}
    found = needs_of(tmp_path, files)
    assert found.requirements == ("pytest", "mock")
    assert found.optional == ("pylibmc==1.6", "psycopg2")


def test_extra_with_something_built_against_system_libraries_is_taken_apart(tmp_path):
    setup = "from setuptools import setup\nsetup(name='demo', extras_require={'test': ['pytest', 'mysqlclient']})\n"
    found = needs_of(tmp_path, {"setup.py": setup})
    assert found.extras == ()
    assert found.requirements == ("pytest",)
    assert found.optional == ("mysqlclient",)


def test_setting_of_a_plugin_that_needs_a_display_library_does_not_bring_the_plugin(tmp_path):
    files = {"setup.py": SETUP, "setup.cfg": "[tool:pytest]\nqt_no_exception_capture = 1\n"}
    assert needs_of(tmp_path, files).requirements == ("pytest",)


# --- files by name -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ci/deps_pinned.txt", "requirements/pinned.txt", "requirements-oldest.txt"])
def test_pins_of_oldest_versions_are_not_the_requirements(tmp_path, name):
    found = needs_of(tmp_path, {"setup.py": SETUP, name: "numpy~=1.16.0\n"})
    assert found.requirements == ("pytest",)


def test_compiled_file_stands_for_what_it_was_compiled_from(tmp_path):
    files = {
        "setup.py": SETUP,
        "requirements/test.in": "pytest\nyarl>=1\n",
        "requirements/test.txt": "pytest==7.1\nyarl==1.8\n",
        "requirements/dev.in": "pytest\n",
    }
    assert needs_of(tmp_path, files).requirements == ("pytest==7.1", "yarl==1.8")


@pytest.mark.parametrize(
    "name", ["optional_requirements.txt", "requirements/extras.txt", "requirements/extras/a.txt"]
)
def test_file_of_optional_features_may_be_lost_and_counts_where_tests_import_it(tmp_path, name):
    files = {
        "setup.py": SETUP,
        "requirements.txt": "six\n",
        name: "imread\nastropy\n",
        "tests/test_a.py": "import astropy\n",
    }
    found = needs_of(tmp_path, files)
    assert "imread" not in names(found.requirements + found.optional)
    assert found.optional == ("astropy",)


def test_extras_that_tests_import_are_tried_where_only_a_runner_is_named(tmp_path):
    setup = (
        "from setuptools import setup\nsetup(name='demo', extras_require={'all': ['scipy>=1.2', 'h5py']})\n"
    )
    files = {"setup.py": setup, "tests/test_a.py": "import pytest\nscipy = pytest.importorskip('scipy')\n"}
    assert needs_of(tmp_path / "bare", files).optional == ("scipy>=1.2",)
    files["tox.ini"] = "[testenv]\ndeps =\n  pytest\n  mock\n"
    assert needs_of(tmp_path / "named", files).optional == ()


# --- tox sections ------------------------------------------------------------------------------------

SPLIT = """
    [tox]
    envlist = py27, py33, py35
    [testenv]
    deps = -rold.txt
    [testenv:py33]
    deps = pytest<3
    [testenv:py35]
    deps = pytest
    """


def test_python_that_tox_does_not_list_takes_the_nearest_section_of_its_major_version(tmp_path):
    files = {"setup.py": SETUP, "tox.ini": SPLIT, "old.txt": "pytest\nmitmproxy==0.10\n"}
    assert needs_of(tmp_path, files, "3.6").requirements == ("pytest",)


def test_python_that_tox_lists_without_a_section_takes_the_general_one(tmp_path):
    files = {
        "setup.py": SETUP,
        "tox.ini": SPLIT.replace("py35\n", "py35, py36\n", 1),
        "old.txt": "pytest\nsix\n",
    }
    assert needs_of(tmp_path, files, "3.6").requirements == ("pytest", "six")


# --- pins of a lock file -----------------------------------------------------------------------------


def test_pin_of_a_lock_file_that_is_behind_the_requirements_is_left_out(tmp_path):
    files = {
        "pyproject.toml": """
            [project]
            name = "demo"
            dependencies = ["attrs>=22", "idna>=3; python_version < '3.0'"]
            [dependency-groups]
            test = ["pytest>=8"]
            """,
        "uv.lock": "".join(
            f'[[package]]\nname = "{name}"\nversion = "{version}"\n'
            for name, version in {"attrs": "21.4", "idna": "2.5", "pytest": "7.0", "pluggy": "1.5"}.items()
        ),
    }
    assert needs_of(tmp_path, files).constraints == ("idna==2.5", "pluggy==1.5")


def test_pins_agree_with_themselves_and_with_pre_releases():
    assert agreeing(["a==1.0a1"], ["a==1.0a1", "a>=1.0a0"], "3.9") == ("a==1.0a1",)
    assert agreeing(["a==1.0"], ["not a requirement ==", "a!=1.0"], "3.9") == ()


# --- what runners and CI name ------------------------------------------------------------------------

NOXFILE = """
    import nox
    def tests_impl(session, extras="socks,fast"):
        session.install("-r", "dev-requirements.txt")
        session.install(f".[{extras}]")
    @nox.session
    def test(session):
        tests_impl(session)
    @nox.session
    def test_other_codec(session):
        session.install("othercodec")
        tests_impl(session, extras="socks")
    """
EXTRAS = "extras_require={'socks': ['pysocks'], 'fast': ['cython'], 'docs': ['sphinx'], 'odd': ['zzz'], 'dev': ['jose']}"
WITH_EXTRAS = f"from setuptools import setup\nsetup(name='demo', {EXTRAS})\n"


def test_functions_that_a_session_calls_are_followed_and_variants_of_it_are_not(tmp_path):
    files = {"setup.py": WITH_EXTRAS, "noxfile.py": NOXFILE, "dev-requirements.txt": "pytest==7\n"}
    found = needs_of(tmp_path, files)
    assert (found.extras, found.requirements) == (("socks", "fast"), ("pytest==7",))


def test_session_passes_its_own_words_to_what_it_calls(tmp_path):
    text = NOXFILE.replace("tests_impl(session)\n", "tests_impl(session, extras='fast')\n", 1)
    files = {"setup.py": WITH_EXTRAS, "noxfile.py": text, "dev-requirements.txt": "pytest==7\n"}
    assert needs_of(tmp_path, files).extras == ("fast",)


@pytest.mark.parametrize(
    ("command", "extras"),
    [
        ("flit install", {"socks", "dev"}),
        ("flit install --symlink --deps=develop", {"dev"}),
        ("flit install --deps develop --extras socks,fast", {"socks", "fast"}),
        ("uv sync --all-extras", {"socks", "dev"}),
        ("poetry install --all-extras", {"socks", "dev"}),
    ],
)
def test_all_extras_are_those_that_the_repository_has_a_use_for(tmp_path, command, extras):
    workflow = f"jobs:\n  test:\n    steps:\n      - run: {command}\n      - run: pytest\n"
    files = {
        "setup.py": WITH_EXTRAS,
        ".github/workflows/ci.yml": workflow,
        "demo/__init__.py": "import socks, pysocks\n",
    }
    assert set(needs_of(tmp_path, files).extras) - {"test"} == extras


def test_script_that_ci_calls_is_read_wherever_it_lies(tmp_path):
    files = {
        "setup.py": WITH_EXTRAS,
        ".travis.yml": "install:\n  - bash ./scripts/ci/install.sh\n",
        "scripts/ci/install.sh": "pip install .[socks]\n. scripts/ci/install.sh\n",
        "scripts/other.sh": "pip install .[fast]\n",
    }
    assert needs_of(tmp_path, files).extras == ("socks",)


def test_name_from_a_file_that_is_executed_into_a_table_is_read(tmp_path):
    setup = """
        import os
        from setuptools import setup
        here = os.path.abspath(os.path.dirname(__file__))
        about = {}
        with open(os.path.join(here, "demo", "__about__.py"), "r") as f:
            exec(f.read(), about)
        setup(name=about["__title__"], version=about["__version__"])
        """
    files = {
        "setup.py": textwrap.dedent(setup),
        "demo/__about__.py": "__title__ = 'demo'\n__version__ = '1.2'\n",
    }
    facts = collect_facts(make_tree(tmp_path, files))
    assert (facts.name, facts.version) == ("demo", "1.2")

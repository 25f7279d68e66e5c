"""What setup.py, setup.cfg and pyproject.toml say, without running any of them."""

import ast
import textwrap

import pytest
from evidence_trees import make_tree

from reconstruct.environment.evidence.model import Origin
from reconstruct.environment.evidence.static_values import version_marker
from reconstruct.environment.facts import collect_facts


def facts_of(root, files):
    return collect_facts(
        make_tree(root, {k: textwrap.dedent(v) if isinstance(v, str) else v for k, v in files.items()})
    )


def group(facts, origin, name):
    return next(g.requirements for g in facts.groups if (g.origin, g.name) == (origin, name))


def test_setup_py_is_read_and_never_run(tmp_path):
    marker = tmp_path / "ran"
    facts = facts_of(
        tmp_path / "tree",
        {
            "setup.py": f"""
            open({str(marker)!r}, "w").write("x")
            from setuptools import setup
            setup(name="demo", version="1.0", python_requires=">=3.6", install_requires=["alpha"])
            """
        },
    )
    assert (facts.name, facts.version, facts.requires_python, facts.dependencies) == (
        "demo",
        "1.0",
        (">=3.6",),
        ("alpha",),
    )
    assert not marker.exists()


def test_lists_built_in_steps_are_followed(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.py": """
            import setuptools
            TESTS = ["pytest", "mock"]
            EXTRAS = {"test": TESTS, "docs": ["sphinx"]}
            EXTRAS["dev"] = EXTRAS["test"] + EXTRAS["docs"] + ["tox"]
            requires = ["alpha"]
            requires.append("beta")
            requires += ["gamma"]
            EXTRAS["all"] = sorted(sum(EXTRAS.values(), []))
            setuptools.setup(name="demo", install_requires=requires, extras_require=EXTRAS, tests_require=TESTS)
            """
        },
    )
    assert facts.dependencies == ("alpha", "beta", "gamma")
    assert facts.extras()["dev"] == ("pytest", "mock", "sphinx", "tox")
    assert set(facts.extras()["all"]) == {"pytest", "mock", "sphinx", "tox"}
    assert group(facts, Origin.TESTS_REQUIRE, "tests_require") == ("pytest", "mock")


def test_condition_on_the_interpreter_becomes_a_marker(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.py": """
            import sys
            from setuptools import setup
            requires = ["alpha"]
            if sys.version_info < (3, 8):
                requires.append("backport")
            if sys.version_info[0] == 2:
                requires += ["enum34"]
            else:
                requires += ["modern"]
            setup(name="demo", install_requires=requires)
            """
        },
    )
    assert facts.dependencies == (
        "alpha",
        'backport; python_version < "3.8"',
        'enum34; python_version < "3"',
        'modern; python_version >= "3"',
    )


@pytest.mark.parametrize(
    "expression",
    [
        'open("requirements.txt").read().splitlines()',
        '[line.strip() for line in open("requirements.txt") if line]',
        'parse_requirements("requirements.txt")',
        'read(os.path.join(here, "requirements.txt")).split()',
    ],
)
def test_requirements_that_setup_py_reads_from_a_file_are_found(tmp_path, expression):
    setup = f"import os\nfrom setuptools import setup\nsetup(name='demo', install_requires={expression})\n"
    facts = facts_of(tmp_path, {"setup.py": setup, "requirements.txt": "# why\nalpha>=1\nbeta\n"})
    assert facts.dependencies == ("alpha>=1", "beta")


def test_requirements_from_a_file_opened_by_with_are_found(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.py": """
            from setuptools import setup
            with open("requirements.txt") as stream:
                required = stream.read().splitlines()
            setup(name="demo", install_requires=required)
            """,
            "requirements.txt": "alpha\n",
        },
    )
    assert facts.dependencies == ("alpha",)


def test_setup_called_in_a_function_with_collected_arguments_is_found(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.py": """
            from setuptools import setup
            def setup_package():
                metadata = dict(name="demo", install_requires=["alpha"])
                metadata.update({"tests_require": ["pytest"]})
                setup(**metadata)
            if __name__ == "__main__":
                setup_package()
            """
        },
    )
    assert (facts.name, facts.dependencies) == ("demo", ("alpha",))
    assert group(facts, Origin.TESTS_REQUIRE, "tests_require") == ("pytest",)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('["alpha>=%s" % low]', ("alpha>=1.2",)),
        ('["alpha>=%s,<%s" % (low, 3)]', ("alpha<3,>=1.2",)),
        ('["alpha>={}".format(low)]', ("alpha>=1.2",)),
        ('[f"alpha>={low}"]', ("alpha>=1.2",)),
        ('["alpha>=" + low]', ("alpha>=1.2",)),
        ('["alpha%100000000s" % low, "beta"]', ("beta",)),
        ('["alpha{:>100000000}".format(low), "beta"]', ("beta",)),
        ('["alpha>=%s" % unknown, "beta"]', ("beta",)),
    ],
)
def test_texts_put_together_are_followed_unless_they_can_grow_at_will(tmp_path, expression, expected):
    setup = f"from setuptools import setup\nlow = '1.2'\nsetup(name='demo', install_requires={expression})\n"
    assert facts_of(tmp_path, {"setup.py": setup}).dependencies == expected


def test_setup_py_of_python_2_still_gives_its_name(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.py": """
            print "building"
            setup(name='demo', classifiers=['Programming Language :: Python :: 3.4'])
            """
        },
    )
    assert (facts.name, facts.versions(), facts.is_package) == ("demo", ("3.4",), True)
    assert "broken" in [entry.key for entry in facts.evidence]


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "[" * 3000,
        "x = " + "-" * 60_000 + "1",
        "x = a" + ".a" * 60_000,
        "x = " + "1+" * 60_000 + "1",
        "x = ['a']\n" + "x += x\n" * 80 + "setup(name='demo', install_requires=x)",
        "s = 'a' * 10\n" + "s = s + s\n" * 200 + "setup(name=s)",
        "def f():\n" * 1 + "    " + "f(" * 2000,
        "if a: pass\n" + "elif a: pass\n" * 2500,
        "d = {}\nd['a'] = d\nsetup(name='demo', extras_require=d)",
        "setup(name='demo', version='\\ud800', install_requires=['\\ud800', 'a;b;c', ''])",
    ],
    ids=range(10),
)
def test_hostile_setup_py_ends_quickly_and_without_an_exception(tmp_path, source):
    facts = collect_facts(make_tree(tmp_path, {"setup.py": source, "noxfile.py": source}))
    for entry in facts.evidence:
        entry.content_hash()


@pytest.mark.parametrize(
    ("test", "marker"),
    [
        ("sys.version_info < (3, 8)", 'python_version < "3.8"'),
        ("sys.version_info[:2] >= (3, 7)", 'python_version >= "3.7"'),
        ("sys.version_info[0] == 2", 'python_version < "3"'),
        ("sys.version_info.major >= 3", 'python_version >= "3.0"'),
        ("version_info != (2, 7)", 'python_version != "2.7"'),
        ("sys.version_info[1] < 8", None),
        ("sys.version_info.minor < 8", None),
        ("sys.version_info < minimum", None),
        ("sys.platform == 'win32'", None),
    ],
)
def test_conditions_on_the_interpreter_are_told_from_others(test, marker):
    assert version_marker(ast.parse(test, mode="eval").body) == marker


@pytest.mark.parametrize(
    ("setup", "tool"),
    [
        ("setup(name='d', use_scm_version=True, setup_requires=['setuptools_scm'])", "setuptools_scm"),
        ("setup(setup_requires=['pbr'], pbr=True)", "pbr"),
        ("import versioneer\nsetup(name='d', version=versioneer.get_version())", "versioneer"),
        ("setup(name='d', version='1')", None),
    ],
)
def test_version_taken_from_version_control_is_recognised_in_setup_py(tmp_path, setup, tool):
    assert facts_of(tmp_path, {"setup.py": setup}).version_source == tool


@pytest.mark.parametrize(
    ("toml", "tool"),
    [
        ('[build-system]\nrequires = ["setuptools>=45", "setuptools_scm[toml]>=6"]', "setuptools_scm"),
        ("[tool.setuptools_scm]\n[project]\nname = 'd'", "setuptools_scm"),
        ("[tool.hatch.version]\nsource = 'vcs'", "hatch-vcs"),
        ("[tool.poetry-dynamic-versioning]\nenable = true", "poetry-dynamic-versioning"),
        ("[tool.pdm.version]\nsource = 'scm'", "pdm-scm"),
        ("[project]\nname = 'd'\nversion = '1'", None),
    ],
)
def test_version_taken_from_version_control_is_recognised_in_pyproject(tmp_path, toml, tool):
    assert facts_of(tmp_path, {"pyproject.toml": toml}).version_source == tool


def test_setup_cfg_gives_metadata_extras_and_tests(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.cfg": """
            [metadata]
            name = demo
            version = attr: demo.__version__
            classifiers =
                Programming Language :: Python :: 3.8
                Programming Language :: Python :: 3.10
            [options]
            python-requires = >=3.8
            install_requires =
                alpha>=1
                # a comment
                beta; python_version < '3.9'
                gamma;python_version<'3'
            tests_require = pytest; mock
            [options.extras_require]
            test =
                pytest
                hypothesis
            """,
            "setup.py": "from setuptools import setup\nsetup()",
        },
    )
    assert (facts.name, facts.version, facts.requires_python) == ("demo", None, (">=3.8",))
    assert facts.versions(Origin.CLASSIFIER) == ("3.8", "3.10")
    assert facts.dependencies == (
        "alpha>=1",
        'beta; python_version < "3.9"',
        'gamma; python_version < "3"',
    )
    assert facts.extras() == {"test": ("pytest", "hypothesis")}
    assert group(facts, Origin.TESTS_REQUIRE, "tests_require") == ("pytest", "mock")


def test_setup_cfg_reads_the_files_that_it_names(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.cfg": "[metadata]\nname = d\n[options]\ninstall_requires = file: a.txt, b.txt\n",
            "a.txt": "alpha\n",
            "b.txt": "beta\n",
        },
    )
    assert facts.dependencies == ("alpha", "beta")


def test_pbr_takes_its_dependencies_from_the_requirement_file(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "setup.cfg": "[metadata]\nname = demo\n",
            "setup.py": "import setuptools\nsetuptools.setup(setup_requires=['pbr>=2'], pbr=True)",
            "requirements.txt": "alpha\n",
        },
    )
    assert (facts.version_source, facts.dependencies) == ("pbr", ("alpha",))


def test_broken_line_of_setup_cfg_spoils_nothing_else(tmp_path):
    facts = facts_of(
        tmp_path, {"setup.cfg": "what is this\n[metadata\n[metadata]\nname = demo\n???\n[options\n"}
    )
    assert facts.name == "demo"
    lines = [entry.line for entry in facts.evidence if entry.key == "broken"]
    assert 1 in lines


def test_pep_621_and_extras(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "pyproject.toml": """
            [build-system]
            requires = ["hatchling>=1"]
            build-backend = "hatchling.build"
            [project]
            name = "demo"
            requires-python = ">=3.8"
            classifiers = ["Programming Language :: Python :: 3.12"]
            dependencies = ["alpha>=1", "beta @ git+https://host/beta"]
            [project.optional-dependencies]
            test = ["pytest", "demo[fast]"]
            fast = ["gamma"]
            """
        },
    )
    assert (facts.name, facts.build_backend, facts.build_requires) == (
        "demo",
        "hatchling.build",
        ("hatchling>=1",),
    )
    assert facts.dependencies == ("alpha>=1",)
    assert facts.extras()["test"] == ("pytest", "demo[fast]")
    places = {(e.key, e.value): (e.path, e.line) for e in facts.evidence}
    assert places["dependency", "alpha>=1"] == ("pyproject.toml", 9)


def test_poetry_groups_constraints_and_extras(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "pyproject.toml": """
            [tool.poetry]
            name = "demo"
            version = "0.1"
            [tool.poetry.dependencies]
            python = "^3.7"
            alpha = "^1.2"
            beta = { version = "~2.1", extras = ["x"], markers = "sys_platform == 'linux'" }
            gamma = { version = "*", optional = true }
            local = { path = "../local" }
            [tool.poetry.extras]
            fast = ["gamma"]
            [tool.poetry.dev-dependencies]
            pytest = "^6.0"
            old = [ { version = "1.0", python = "<3.8" }, { version = "2.0", python = ">=3.8" } ]
            [tool.poetry.group.test.dependencies]
            mock = "*"
            """
        },
    )
    assert facts.requires_python == ("<4,>=3.7",)
    assert facts.dependencies == ("alpha<2,>=1.2", 'beta[x]<2.2,>=2.1; sys_platform == "linux"')
    assert facts.extras() == {"fast": ("gamma",)}
    assert group(facts, Origin.POETRY, "test") == ("mock",)
    assert group(facts, Origin.POETRY, "dev") == (
        "pytest<7,>=6.0",
        'old==1.0; python_version < "3.8"',
        'old==2.0; python_version >= "3.8"',
    )


def test_dependency_groups_include_each_other_without_end(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "pyproject.toml": """
            [dependency-groups]
            test = ["pytest", {include-group = "Extra_Tools"}, {include-group = "nowhere"}, 7]
            extra-tools = ["mock", {include-group = "test"}]
            """
        },
    )
    assert group(facts, Origin.DEPENDENCY_GROUP, "test") == ("pytest", "mock")


def test_groups_of_pdm_uv_flit_and_hatch(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "pyproject.toml": """
            [tool.pdm.dev-dependencies]
            test = ["pytest", "-e file:///x"]
            [tool.uv]
            dev-dependencies = ["mock"]
            [tool.flit.metadata]
            module = "demo"
            requires = ["alpha"]
            requires-python = ">=3.6"
            [tool.flit.metadata.requires-extra]
            test = ["nose"]
            [tool.hatch.envs.test]
            dependencies = ["pytest-cov"]
            extra-dependencies = ["rich"]
            [[tool.hatch.envs.test.matrix]]
            python = ["3.8", "3.10", "pypy3.9"]
            """
        },
    )
    assert group(facts, Origin.PDM, "test") == ("pytest",)
    assert group(facts, Origin.UV, "dev") == ("mock",)
    assert group(facts, Origin.HATCH, "test") == ("pytest-cov", "rich")
    assert (facts.name, facts.extras()) == ("demo", {"test": ("nose",)})
    assert facts.versions(Origin.HATCH) == ("3.8", "3.10")


@pytest.mark.parametrize(
    "toml",
    [
        "[project\nname = ",
        "project = 3\ntool = 'x'\nbuild-system = []\ndependency-groups = 7",
        "[project]\nname = 7\ndependencies = 'alpha'\nclassifiers = {}\noptional-dependencies = []",
        "[tool]\npoetry = 1\nhatch = []\npdm = 'x'\nuv = 1\nflit = []\npytest = 1\ntox = []",
        "[tool.poetry]\ndependencies = []\nextras = 'x'\ngroup = 4",
        "[tool.poetry.dependencies]\npython = 3\nalpha = 3\nbeta = [[]]",
        "[tool.hatch.envs]\na = 1\n[tool.hatch.envs.b]\nmatrix = [1]\ndependencies = 4",
        "a = " + "[" * 5000,
    ],
    ids=range(8),
)
def test_pyproject_of_any_shape_is_survived(tmp_path, toml):
    assert facts_of(tmp_path, {"pyproject.toml": toml}).dependencies == ()


def test_lock_files_and_layout_are_recorded(tmp_path):
    facts = facts_of(
        tmp_path,
        {
            "src/demo/__init__.py": "",
            "tests/test_a.py": "",
            "poetry.lock": "",
            "uv.lock": "",
            "setup.py": "setup()",
        },
    )
    assert facts.layout.lock_files == ("uv.lock", "poetry.lock")
    assert (facts.layout.source_folder, facts.layout.modules, facts.layout.tests) == (
        "src",
        ("demo",),
        ("tests",),
    )


def test_flat_layout_with_a_module_and_a_package(tmp_path):
    facts = facts_of(
        tmp_path, {"demo.py": "", "pack/__init__.py": "", "docs/conf.py": "", "tests/__init__.py": ""}
    )
    assert (facts.layout.source_folder, facts.layout.modules) == (".", ("demo", "pack"))

"""CI files, shell scripts and conda files: what jobs that test say, and nothing of the others."""

import textwrap

import pytest
from evidence_trees import make_tree
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.environment.evidence.conda import index_requirement
from reconstruct.environment.evidence.model import Origin
from reconstruct.environment.evidence.shell import install_commands
from reconstruct.environment.facts import collect_facts


def facts_of(root, files):
    return collect_facts(make_tree(root, {k: textwrap.dedent(v) for k, v in files.items()}))


def requirements(facts):
    return [text for install in facts.ci for text in install.requested.requirements]


GITHUB = """
on: {push: {branches: [main]}}
jobs:
  tests:
    name: ${{ matrix.os }} / ${{ matrix.python-version }}
    strategy:
      matrix:
        python-version: [3.6, 3.9, 3.10, 3.11-dev, pypy-3.8, "3.12.0-rc.1"]
        include:
          - {python-version: '3.7', toxenv: py37}
        exclude:
          - python-version: 3.4
    steps:
      - uses: actions/setup-python@v2
        with:
          python-version: ${{ matrix.python-version }}
      - run: |
          sudo apt-get install -y libfoo-dev
          python -m pip install --upgrade pip
          pip install -e .[test] "alpha>=1; python_version<'4'" \\
            beta -r requirements.txt
      - name: Lint
        run: pip install flake8
  docs:
    steps:
      - with: {python-version: 3.5}
      - run: pip install sphinx
  other:
    name: Type checking
    steps:
      - run: pip install mypy
"""


def test_3_10_in_a_matrix_is_not_3_1(tmp_path):
    facts = facts_of(tmp_path, {".github/workflows/ci.yml": GITHUB})
    assert facts.versions(Origin.CI) == ("3.6", "3.7", "3.9", "3.10")


def test_install_lines_of_testing_jobs_only(tmp_path):
    facts = facts_of(tmp_path, {".github/workflows/ci.yml": GITHUB, "requirements.txt": "gamma\n"})
    assert requirements(facts) == ["pip", 'alpha>=1; python_version < "4"', "beta", "gamma"]
    assert [i.requested.extras for i in facts.ci if i.requested.extras] == [("test",)]
    assert facts.apt_packages == ("libfoo-dev",)
    line = next(e.line for e in facts.evidence if (e.key, e.value) == ("ci_python", "3.10"))
    assert line == 8


@pytest.mark.parametrize(
    "name", ["lint.yml", "docs.yml", "release.yml", "pre-commit.yml", "publish_pypi.yml"]
)
def test_workflow_named_for_another_purpose_is_left_out(tmp_path, name):
    facts = facts_of(tmp_path, {f".github/workflows/{name}": GITHUB})
    assert (facts.versions(Origin.CI), facts.ci) == ((), ())


@pytest.mark.parametrize(
    ("path", "text", "versions"),
    [
        (
            ".travis.yml",
            """
            language: python
            python: [2.7, 3.6, "3.7-dev", pypy3, nightly]
            matrix:
              include:
                - {python: 3.8, env: TOXENV=py38}
                - {python: 3.5, env: TOXENV=docs}
                - {stage: lint, python: 3.4}
              allow_failures:
                - python: 3.3
            """,
            ("2.7", "3.6", "3.8"),
        ),
        (
            ".travis.yml",
            "env:\n  - TOXENV=py27\n  - TOXENV=py310-x,py36\n  - TOXENV=pypy3\n",
            ("2.7", "3.6", "3.10"),
        ),
        (
            "azure-pipelines.yml",
            """
            jobs:
            - job: Linux
              strategy:
                matrix:
                  Python36: {python.version: '3.6'}
                  Python310: {python.version: 3.10}
              steps:
              - task: UsePythonVersion@0
                inputs: {versionSpec: '$(python.version)'}
              - script: pip install alpha
            - job: Documentation
              steps:
              - task: UsePythonVersion@0
                inputs: {versionSpec: '3.5'}
            """,
            ("3.6", "3.10"),
        ),
        (
            "appveyor.yml",
            """
            environment:
              matrix:
                - PYTHON: "C:\\\\Python36-x64"
                - PYTHON: "C:\\\\Python37"
                  PYTHON_VERSION: "3.7.x"
                - TOXENV: py38
            """,
            ("3.6", "3.7", "3.8"),
        ),
        (
            ".circleci/config.yml",
            """
            version: 2
            jobs:
              test-3.7: {docker: [{image: circleci/python:3.7.1}]}
              build: {docker: [{image: "cimg/python:3.9"}, {image: "postgres:9.6"}]}
            """,
            ("3.7", "3.9"),
        ),
        (".gitlab-ci.yml", "test:\n  image: python:3.8-slim\n  script:\n    - pip install x\n", ("3.8",)),
        (".cirrus.yml", "task:\n  container:\n    image: python:3.7\n", ("3.7",)),
    ],
    ids=["travis", "travis-toxenv", "azure", "appveyor", "circle", "gitlab", "cirrus"],
)
def test_every_service_is_read(tmp_path, path, text, versions):
    assert facts_of(tmp_path, {path: text}).versions(Origin.CI) == versions


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, 2",
        "a: !!python/object/apply:os.system ['touch /tmp/x']",
        "? [a, b]\n: c",
        "&a [*a]",
        "a: &a {b: *a}",
        "jobs: 7",
        "jobs:\n  a: [steps]\n  b: null\n",
        "- a\n- b",
        "\t- tabs",
        "a: !unknown {python: 3.9}",
        "x: " + "[" * 3000,
        "x: " + "{a: " * 3000,
        "- " * 50_000 + "a",
        "? " * 50_000 + "a",
        "a: '" + "[" * 90_000 + "'",
        "&a " * 20_000 + "b",
        "%YAML 9.9\n---\na: b",
        "a: \x07",
    ],
    ids=range(18),
)
def test_broken_or_hostile_yaml_is_survived(tmp_path, text):
    facts = collect_facts(make_tree(tmp_path, {".travis.yml": text, "environment.yml": text}))
    assert facts.ci == ()


def test_aliases_that_multiply_end(tmp_path):
    lines = ["a0: &a0 {python: 3.6, script: pip install alpha}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 12)}]" for n in range(1, 12)]
    lines += [f"m{n}: &m{n}\n  <<: [{', '.join([f'*m{n - 1}'] * 12)}]" for n in range(1, 12)]
    text = "\n".join(["m0: &m0 {python: 3.7}", *lines])
    assert "3.6" in facts_of(tmp_path, {".travis.yml": text}).versions(Origin.CI)


def test_scripts_of_ci_folders_are_read(tmp_path):
    script = "set -e\nif [ $X ]; then pip install alpha; fi\nconda install -y -n env -c forge beta=1.2 python=3.7\n"
    facts = facts_of(tmp_path, {"ci/install.sh": script, "scripts/x.sh": "pip install gamma\n"})
    assert requirements(facts) == ["alpha", "beta==1.2.*"]


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("pip install a b", ["a", "b"]),
        ("python3.8 -m pip install -U 'a>=1'", ["a>=1"]),
        ("uv pip install --system a", ["a"]),
        ("sudo pip3 install a && pip install b || true", ["a", "b"]),
        ("pip install $PACKAGES a ${X} `x` $(cat y)", ["a"]),
        ("pip install --index-url https://x --find-links y a", ["a"]),
        ("pip install -f y a  # b", ["a"]),
        ("FOO=1 pip install a; echo pip install", ["a"]),
        ("pip install 'a; python_version < \"3\"'", ['a; python_version < "3"']),
        ("pip install a==1 \\\n  b", ["a==1", "b"]),
        ("python -m pip install dist/*.whl", []),
        ("pip install git+https://host/a.git", []),
        ("pip uninstall a", []),
        ("pip download a", []),
        ("pip install 'unbalanced a", ["a"]),
        ("C:\\Python36\\python.exe -m pip install a", ["a"]),
        ("travis_retry pip install a", ["a"]),
    ],
)
def test_install_commands_of_shell_lines(script, names):
    found = [
        line.text
        for command in install_commands(script)
        if command.tool == "pip"
        for line in command.lines
        if line.kind.value == "named"
    ]
    assert found == names


def test_installers_of_projects_name_extras_and_groups():
    script = "poetry install -E fast --with test,lint\nuv sync --extra x --group y\npdm install -G z\npoetry install"
    found = [(command.extras, command.groups) for command in install_commands(script)]
    assert found == [(("fast",), ("test", "lint")), (("x",), ("y",)), ((), ("z",))]


@given(st.text(max_size=200))
def test_no_script_breaks_the_reader(script):
    list(install_commands(script))
    list(install_commands(f"pip install {script}"))


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("alpha", "alpha"),
        ("alpha=1.2", "alpha==1.2.*"),
        ("alpha=1.2.*", "alpha==1.2.*"),
        ("alpha=1.2=py38_0", "alpha==1.2.*"),
        ("alpha==1.2.3", "alpha==1.2.3"),
        ("alpha >=1.2", "alpha>=1.2"),
        ("alpha>=1,<2", "alpha<2,>=1"),
        ("conda-forge::alpha", "alpha"),
        ("alpha # why", "alpha"),
        ("python=3.8", None),
        ("pip", None),
        ("nodejs", None),
        ("pytables", "tables"),
        ("iris>=2", "scitools-iris>=2"),
        ("matplotlib-base", "matplotlib"),
        ("pytorch=1.4", "torch==1.4.*"),
    ],
)
def test_conda_names_are_translated_and_never_taken_for_another_project(spec, text):
    assert index_requirement(spec) == text


def test_conda_files_by_python_and_purpose(tmp_path):
    body = "name: x\nchannels: [c]\ndependencies:\n  - python={}\n  - alpha\n  - pip:\n    - beta\n    - git+https://h/x\n"
    facts = facts_of(
        tmp_path,
        {
            "ci/requirements/py37.yml": body.format("3.7"),
            "ci/requirements/py310.yml": body.format("3.10"),
            "ci/requirements/py37-min-all-deps.yml": body.format("3.7"),
            "ci/requirements/py37-windows.yml": body.format("3.7"),
            "ci/requirements/all-but-x.yml": body.format("3.7"),
            "doc/environment.yml": body.format("3.7"),
            "environment.yml": "channels: [c]\ndependencies: [alpha, 7, {pip: x}]\n",
            "mkdocs.yml": "dependencies: [gamma]\n",
        },
    )
    assert [(f.path, f.python) for f in facts.conda_files] == [
        ("ci/requirements/py310.yml", "3.10"),
        ("ci/requirements/py37.yml", "3.7"),
        ("environment.yml", None),
    ]
    assert facts.conda_files[0].requested.requirements == ("beta",)

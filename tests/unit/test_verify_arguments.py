"""The project's own pytest options: what would change how a run is told goes, what it means stays."""

import ast
import shlex
import sys
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.verify.inside.arguments import FLAGS, VALUED, filter_arguments

PRESENT = {"tests", "src", "docs/conf.py"}


def kept(line: str) -> list[str]:
    return filter_arguments(shlex.split(line), PRESENT.__contains__)


@pytest.mark.parametrize(
    "line, expected",
    [
        ("-x --maxfail=2 --maxfail 3 --exitfirst", ""),
        ("-n 4 -n4 -nauto --dist=loadfile --dist loadscope --numprocesses auto", ""),
        ("--cov --cov=pkg --cov pkg --cov-report term --cov-report=xml --cov-fail-under 90 --no-cov", ""),
        ("-q -vv -rsxX -ra --color=yes --tb short --durations=10 --showlocals -l", ""),
        ("--junitxml=out.xml --junit-xml out.xml --html r.html --pdb --lf --ff --sw", ""),
        ("--reruns 3 --reruns-delay=1 --random-order --collect-only --setup-plan", ""),
        ("-p sugar -p no:cacheprovider -p xdist -psugar", ""),
        ("-p pytester -p no:warnings -p tests.plugin", "-p pytester -p no:warnings -p tests.plugin"),
        (
            "-m 'not slow' -k 'a and not b' --deselect t.py::a",
            "-m 'not slow' -k 'a and not b' --deselect t.py::a",
        ),
        (
            "--strict-markers --import-mode=importlib -W error -s",
            "--strict-markers --import-mode=importlib -W error -s",
        ),
        ("--ignore docs/conf.py --doctest-modules tests", "--ignore docs/conf.py --doctest-modules"),
        ("--ds=settings --ds settings", "--ds=settings --ds settings"),
        ("-xvs -vsx -xm slow", "-s -s -m slow"),
        ("-Eslow -o xfail_strict=true", "-Eslow -o xfail_strict=true"),
        ("tests src::x --cov tests", ""),
        ("--flake8 --black --mypy --isort", ""),
        ("", ""),
        ("- --", "- --"),
    ],
)
def test_options_that_stop_spread_or_repaint_a_run_go_and_others_stay(line: str, expected: str) -> None:
    assert kept(line) == shlex.split(expected)


def test_option_at_the_end_without_its_value_breaks_nothing() -> None:
    assert kept("-n") == []
    assert kept("--cov") == []
    assert kept("-k") == ["-k", ""]


WORDS = st.sampled_from(
    [*sorted(FLAGS | VALUED), "-x", "-n4", "-m", "slow", "tests", "-vv", "--ds=x", "--", "-"]
)


@given(st.lists(WORDS, max_size=12))
def test_filtering_is_a_selection_and_leaves_no_word_of_the_tables(words: list[str]) -> None:
    once = filter_arguments(words, PRESENT.__contains__)
    assert (
        not (FLAGS | VALUED) & {word for word in once if word != "slow"} or "-m" in once or "--ds=x" in once
    )
    assert len(once) <= len(words) + words.count("-m")


INSIDE = [item.name for item in (files("swequarry.verify") / "inside").iterdir() if item.name.endswith(".py")]


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_what_runs_inside_is_python_3_6_and_only_the_standard_library(name: str) -> None:
    source = (files("swequarry.verify") / "inside" / name).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 6))
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {module.split(".")[0] for module in imported} <= sys.stdlib_module_names | {"pytest"}

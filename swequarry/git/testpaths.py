"""What a path of a repository is for: source, test, documentation, configuration, CI or something else.

The decision looks at whole path components, never at substrings (`contest/latest.py` is no test), and
ignores case. It sees the path only, so two things stay undecidable and have a fixed answer here: a
folder `test` or `tests` holds tests (even where a framework ships one as a public module), and a folder
`testing` below the top holds source (helpers that a package ships to its users), unless its file is
itself a test module.
"""

import re
from enum import StrEnum


class PathRole(StrEnum):
    """What a path is for. Only TEST goes into a test patch; the rest is the gold patch's."""

    SOURCE = "source"
    TEST = "test"
    DOCS = "docs"
    CONFIG = "config"
    CI = "ci"
    OTHER = "other"


_TEST_FOLDER = re.compile(
    rb"(?:tests?|testsuites?|testdata|testfiles|testcases?|__tests__|__snapshots__|e2e|cassettes"
    rb"|tests?[-_.][^/]*|[^/]*[-_.]tests|test[a-z]*files"
    rb"|(?:unit|integration|functional|system|regression|smoke|acceptance|e2e|load|perf|api|ui|py)[-_.]?tests?)"
)
_TEST_MODULE = re.compile(rb"(?:tests?_[^/]*|[^/]*_tests?|unittest_[^/]*|conftest|tests)\.pyi?")
_CAMEL_TEST_MODULE = re.compile(rb"[Tt]ests?[A-Z0-9][^/]*\.py|[^/]*[a-z0-9]Tests?\.py")
_TEST_DATA = re.compile(
    rb"tests?[-_][^/]*\.(?:csv|tsv|json|jsonl|ya?ml|xml|txt|dat|data|bin|sql|html?|npy|npz|nc|pkl|zip|gz)"
    rb"|[^/]*\.(?:snap|ambr)|\.?coveragerc[-_.]test[^/]*"
)
_TOP_TEST_FILE = re.compile(rb"tests?\.py|runtests\.py|run_tests\.py")
_TOP_TEST_FOLDER = frozenset({b"testing"})

_CI_FOLDER = frozenset({b".github", b".circleci", b".travis", b".buildkite", b".azure-pipelines", b".ci"})
_CI_FILE = re.compile(
    rb"\.travis\.yml|\.?appveyor\.yml|azure-pipelines[^/]*\.ya?ml|\.gitlab-ci\.yml|jenkinsfile"
    rb"|\.cirrus\.(?:yml|star)|\.?codecov\.ya?ml|\.mergify\.ya?ml|bors\.toml|\.readthedocs\.ya?ml"
    rb"|\.pre-commit-config\.ya?ml|\.coveralls\.yml|\.drone\.yml|\.zuul\.ya?ml"
)
_CONFIG_FILE = re.compile(
    rb"setup\.(?:py|cfg)|pyproject\.toml|tox\.ini|pytest\.ini|noxfile\.py|manifest\.in|makefile|justfile"
    rb"|dockerfile[^/]*|docker-compose[^/]*|(?:[^/]*[-_.])?requirements?(?:[-_.][^/]*)?\.(?:txt|in|pip)"
    rb"|(?:[^/]*[-_.])?constraints?(?:[-_.][^/]*)?\.txt|pipfile(?:\.lock)?|poetry\.lock|uv\.lock|pdm\.lock"
    rb"|environment[^/]*\.ya?ml|conda[^/]*\.ya?ml|meta\.ya?ml|meson\.build|cmakelists\.txt|tasks\.py"
    rb"|mypy\.ini|\.?(?:flake8|pylintrc|isort\.cfg|ruff\.toml|coveragerc|bumpversion\.cfg|editorconfig)"
    rb"|\.git(?:ignore|attributes|modules|-blame-ignore-revs)|\.mailmap|\.hgignore|\.hgtags|\.dockerignore"
    rb"|[^/]*\.lock"
)
_REQUIREMENTS_FOLDER = re.compile(rb"requirements[^/]*")
_DOCS_TOP = frozenset({b"doc", b"docs", b"documentation", b"website"})
_NEWS_TOP = frozenset({b"news", b"changes", b"changelog", b"changelogs"})
_NEWS_FOLDER = frozenset(
    {
        b"newsfragments",
        b"changelog.d",
        b"news.d",
        b"whatsnew",
        b"releasenotes",
        b"release_notes",
        b"release-notes",
    }
)
_DOCS_FILE = re.compile(
    rb"[^/]*\.(?:md|rst|rest|adoc|textile|markdown)"
    rb"|(?:readme|changes|changelog|history|news|authors|contributors|thanks|credits|copying|licen[cs]e"
    rb"|notice|unlicense|todo|install|citation)(?:[-_.][^/]*)?"
)
_DOCS_SUFFIX = re.compile(rb"[^/]*\.(?:txt|md|rst|html|css|png|svg|jpe?g|gif)")
_OTHER_TOP = frozenset(
    {b"benchmarks", b"benchmark", b"asv_bench", b"examples", b"example", b"samples", b"demo", b"demos"}
    | {b"tools", b"scripts", b"bin", b"etc", b"ci", b"contrib", b"packaging", b".vscode", b".devcontainer"}
)
_PYTHON = re.compile(rb"[^/]*\.(?:pyi?|pyx|pxd|pxi|pyx\.in|py\.in|pyw)")


def _is_test_file(top: bytes, name: bytes, exact_name: bytes) -> bool:
    if top in _TOP_TEST_FOLDER or (not top and _TOP_TEST_FILE.fullmatch(name)):
        return True
    patterns = (_TEST_MODULE, _TEST_DATA)
    return any(p.fullmatch(name) for p in patterns) or bool(_CAMEL_TEST_MODULE.fullmatch(exact_name))


def _is_docs(folders: list[bytes], name: bytes) -> bool:
    if name.endswith(b".py"):
        return False
    if folders[:1] and folders[0] in _NEWS_TOP:
        return True
    if any(folder in _NEWS_FOLDER for folder in folders):
        return True
    if b"docs" in folders and _DOCS_SUFFIX.fullmatch(name):
        return True
    return bool(_DOCS_FILE.fullmatch(name))


def classify_path(path: bytes) -> PathRole:
    """Tell what a path is for. `path` is relative to the repository's root, with `/`, as git has it."""
    *exact_folders, exact_name = path.split(b"/")
    folders, name = [folder.lower() for folder in exact_folders], exact_name.lower()
    top = folders[0] if folders else b""
    in_tests = any(_TEST_FOLDER.fullmatch(folder) for folder in folders)
    rules = (
        (PathRole.CI, top in _CI_FOLDER),
        (PathRole.DOCS, top in _DOCS_TOP),
        (PathRole.CI, not top and bool(_CI_FILE.fullmatch(name))),
        (PathRole.CONFIG, bool(_CONFIG_FILE.fullmatch(name)) and not in_tests),
        (PathRole.CONFIG, bool(_REQUIREMENTS_FOLDER.fullmatch(top))),
        (PathRole.TEST, in_tests or _is_test_file(top, name, exact_name)),
        (PathRole.DOCS, _is_docs(folders, name)),
        (PathRole.OTHER, top in _OTHER_TOP),
    )
    return next((role for role, holds in rules if holds), PathRole.SOURCE)


def is_test_folder(name: bytes, *, top: bool) -> bool:
    """Whether a folder of this name holds tests; one named `testing` does only at the top."""
    lowered = name.lower()
    return _TEST_FOLDER.fullmatch(lowered) is not None or (top and lowered in _TOP_TEST_FOLDER)


def is_test_module(path: bytes) -> bool:
    """Whether a path is a Python module that a runner would collect tests from, not test support or data."""
    name = path.rsplit(b"/", 1)[-1]
    if not name.lower().endswith(b".py") or name in {b"conftest.py", b"__init__.py"}:
        return False
    return classify_path(path) is PathRole.TEST


def is_python(path: bytes) -> bool:
    """Whether a path is Python or Cython code, by its name."""
    return bool(_PYTHON.fullmatch(path.rsplit(b"/", 1)[-1].lower()))

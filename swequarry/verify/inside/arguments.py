"""Leave out those pytest options of a project that change how a run is told, cut or repeated.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

What goes: stopping early (-x, --maxfail, --stepwise), choosing by the last run (--lf, --ff), spreading over
processes (-n, --dist), coverage, verbosity and colours, reports written to files, debuggers, re-running
of failed tests, random order, linters that pose as tests, and modes that run nothing (--collect-only).
What stays, because it says which tests the project means by "the tests" or how they work: -k, -m,
--deselect, --ignore, -s, -W, -p of anything that isn't a reporter, --import-mode, --doctest-*, markers,
options of the project's own plugins.
"""

import os

_FLAGS = """
--exitfirst --stepwise --sw --stepwise-skip --sw-skip --stepwise-reset --sw-reset --last-failed --lf
--failed-first --ff --new-first --nf --cache-clear --looponfail --boxed --no-cov --no-cov-on-fail
--cov-append --cov-branch --cov-reset --verbose --quiet --showlocals --no-showlocals --no-header
--no-summary --full-trace --pdb --trace --usepdb --self-contained-html --json-report --instafail
--random-order --collect-only --co --collectonly --setup-only --setup-plan --setup-show --fixtures
--fixtures-per-test --markers --help --version --flake8 --pep8 --pycodestyle --pydocstyle --black
--isort --pylint --mypy --flakes --ruff --ruff-format
"""
FLAGS = frozenset(_FLAGS.split())
"""Options without a value."""
_KEPT_FLAGS = """
--doctest-modules --doctest-continue-on-failure --doctest-ignore-import-errors --strict --strict-markers
--strict-config --pyargs --noconftest --keep-duplicates --disable-warnings --disable-pytest-warnings
--runxfail
--collect-in-virtualenv --forked --benchmark-disable --benchmark-skip --benchmark-only
"""
KEPT_FLAGS = frozenset(_KEPT_FLAGS.split())
"""Options without a value that stay: a path behind one of them is no value of it."""
_VALUED = """
--maxfail --last-failed-no-failures --lfnf --cache-show --numprocesses --dist --tx --rsyncdir
--rsyncignore --maxprocesses --max-worker-restart --max-slave-restart --cov --cov-report --cov-config
--cov-context --cov-fail-under --cov-precision --verbosity --color --tb --show-capture --durations
--durations-min --code-highlight --pdbcls --junitxml --junit-xml --junitprefix --junit-prefix --html
--css --json-report-file --json --report-log --resultlog --result-log --pastebin --alluredir --reruns
--reruns-delay --only-rerun --rerun-except --random-order-bucket --random-order-seed --randomly-seed
"""
VALUED = frozenset(_VALUED.split())
"""Options with a value, glued by `=` or in the next word."""
OPTIONAL_VALUE = frozenset(["--cov", "--cache-show"])
"""Those of `VALUED` whose value may be absent."""
_REPORTERS = """
sugar pytest_sugar instafail pytest_instafail xdist xdist.plugin xdist.looponfail pytest_cov
pytest_cov.plugin html pytest_html pytest_html.plugin rerunfailures pytest_rerunfailures randomly
pytest_randomly random_order random_order.plugin cacheprovider no:cacheprovider no:xdist no:terminal
"""
REPORTERS = frozenset(_REPORTERS.split())
"""Arguments of `-p` that go: plugins that tell, spread or repeat, and those that the recorder decides on."""
SHORT_FLAGS_OUT = "xvqlfdhV"
SHORT_FLAGS_IN = "s"
SHORT_VALUED_OUT = "nr"
SHORT_VALUED_IN = "kmpcoW"


def filter_arguments(words, exists=os.path.exists):
    """Return the words of a command line (or of `addopts`) that stay, in their order.

    Paths go too: which files are run is said by the caller. `exists` tells whether a word names one.
    """
    kept = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--") and len(word) > len("--"):
            kept += _long(word, rest, exists)
        elif word.startswith("-") and len(word) > 1:
            kept += _short(word, rest)
        elif not exists(word.split("::")[0]):
            kept.append(word)
    return kept


def _long(word, rest, exists):
    name, equals, _ = word.partition("=")
    if name in VALUED:
        if not equals and name not in KEPT_FLAGS and rest and not rest[0].startswith("-"):
            absent = name in OPTIONAL_VALUE and exists(rest[0].split("::")[0]) and len(rest) == 1
            if not absent:
                rest.pop(0)
        return []
    if name in FLAGS:
        return []
    if not equals and name not in KEPT_FLAGS and rest and not rest[0].startswith("-"):
        return [word, rest.pop(0)]
    return [word]


def _short(word, rest):
    """Take a cluster such as `-xvs`, `-n4` or `-m slow` apart."""
    kept = []
    letters = word[1:]
    for place, letter in enumerate(letters):
        if letter in SHORT_FLAGS_OUT:
            continue
        if letter in SHORT_FLAGS_IN:
            kept.append("-" + letter)
            continue
        if letter not in SHORT_VALUED_OUT + SHORT_VALUED_IN:
            return [*kept, "-" + letters[place:]]  # an option of a plugin: nobody knows its form
        glued = letters[place + 1 :]
        value = glued or (rest.pop(0) if rest else "")
        stays = letter in SHORT_VALUED_IN and not (letter == "p" and value.strip() in REPORTERS)
        return kept + (["-" + letter, value] if stays else [])
    return kept

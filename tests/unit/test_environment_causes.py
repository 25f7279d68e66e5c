"""Classes of cause, each with the log line that it was made for."""

import pytest

from reconstruct.environment.causes import UNKNOWN, _causes, cause_of

CASES = [
    ("lxml/etree.c:94:10: fatal error: libxml/xmlversion.h: No such file or directory", "needs_system_package: libxml2-dev"),
    ("x.c:1:10: fatal error: odd/odd.h: No such file or directory", "needs_system_package: odd/odd.h"),
    ("a.c:3:10: fatal error: ../vendor/parser/parser.h: No such file or directory", "needs_submodule: vendor/parser/parser.h"),
    ("error: the parser is missing; run `git submodule update --init`", "needs_submodule"),
    ("Error: pg_config executable not found.", "needs_system_package: libpq-dev"),
    ("OSError: mysql_config not found", "needs_system_package: default-libmysqlclient-dev"),
    ("OSError: libsndfile.so.1: cannot open shared object file: No such file or directory", "needs_system_package: sndfile"),
    ("/usr/bin/ld: cannot find -llapack: No such file or directory", "needs_system_package: lapack"),
    ("OSError: CUDA_HOME environment variable is not set.", "needs_gpu"),
    ("error: can't find Rust compiler", "needs_compiler: Rust"),
    ("../meson.build:41:0: ERROR: Unknown compiler(s): [['gfortran'], ['flang']]", "needs_compiler: Fortran"),
    ("gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory", "needs_compiler: C++"),
    ("error: command 'gcc' failed: No such file or directory", "needs_compiler: C"),
    ("/bin/sh: 1: cmake: not found", "needs_tool: cmake"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'swig'", "needs_tool: swig"),
    ("psycopg2.OperationalError: connection to PostgreSQL failed: Connection refused", "needs_service: PostgreSQL"),
    ("django.db.utils: could not connect to server at port 5432, is mysql there", "needs_service: mysql"),
    ("redis.exceptions.ConnectionError: Error 111 connecting: Connection refused by redis", "needs_service: redis"),
    ("Because internal-lib was not found in the package registry, your requirements", "needs_other_index: internal-lib"),
    ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "needs_network"),
    ("SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?", "needs_older_python"),
    ("  x No solution found when resolving dependencies:", "requirements_conflict"),
    ("a copy in site-packages hides the tree: x", "copy_hides_the_tree"),
    ("  x Failed to build `thing @ file:///testbed`", "project_build_error"),
    ("E   ModuleNotFoundError: No module named 'gi.repository'", "tests_cannot_be_imported: gi.repository"),
    ("ImportError: cannot import name 'x' from 'y'", "tests_cannot_be_imported: cannot import name 'x'"),
    ("all is well", UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("line", "cause"), CASES)
def test_each_class_has_its_line(line: str, cause: str) -> None:
    assert cause_of([line]) == cause


def test_every_class_is_reached() -> None:
    reached = {next((c.pattern for c in _causes() if c.read(line)), None) for line, _ in CASES}
    assert reached >= {c.pattern for c in _causes()}


def test_the_deeper_cause_comes_first() -> None:
    lines = ["Failed to build `x==1`", "a.c:1: fatal error: ffi.h: No such file or directory"]
    assert cause_of(lines) == "needs_system_package: libffi-dev"

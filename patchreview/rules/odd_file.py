"""Files that can't be read as source: byte code, binaries, links, modes, git's own."""

import re
from collections.abc import Iterable, Iterator

from patchreview.diff import FileDiff
from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from swequarry.git.testpaths import PathRole

_CODE = "odd-file"
_COMPILED = re.compile(rb"[^/]*\.(?:py[cod]|so|dll|dylib|o|a|exe|class|jar)(?:\.[0-9.]+)?")
_GIT = re.compile(rb"(?:^|/)(?:\.git|git~1)(?:/|$)", re.IGNORECASE)
_STRANGE = re.compile(rb"[\x00-\x1f\x7f]")
_EXECUTABLE = 0o111


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.every:
        if file.path not in case.gold_paths:
            yield from _of_file(file)


def _of_file(file: FileDiff) -> Iterator[Finding]:
    parts = file.path.split(b"/")
    if _GIT.search(file.path) or b".." in parts or file.path.startswith(b"/"):
        yield at(_CODE, Severity.BLOCK, file, "a path of git's own, or one outside of the repository")
    elif _STRANGE.search(file.path):
        yield at(_CODE, Severity.BLOCK, file, "a path with control characters")
    elif not file.deleted and (_COMPILED.fullmatch(file.base_name) or b"__pycache__" in parts):
        yield at(_CODE, Severity.BLOCK, file, "compiled code, which can't be read")
    elif file.base_name == b".gitattributes" and any(
        b"filter=" in line.raw or b"diff" in line.raw for line in file.added
    ):
        yield at(_CODE, Severity.BLOCK, file, "attributes decide how git reads and writes files")
    elif file.is_link:
        yield from _link(file)
    elif file.is_submodule:
        yield at(_CODE, Severity.WARN, file, "another repository is brought in")
    elif file.patch.binary_data is not None and not file.deleted:
        yield at(
            _CODE,
            Severity.NOTE if file.role in {PathRole.TEST, PathRole.DOCS} else Severity.WARN,
            file,
            "a binary file",
        )
    yield from _mode(file)


def _link(file: FileDiff) -> Iterator[Finding]:
    target = next((line.raw for line in file.added), b"")
    out = target.startswith(b"/") or target.count(b"..") > file.path.count(b"/")
    said = "a link to outside of the repository" if out else "a link instead of a file"
    yield at(_CODE, Severity.BLOCK if out or file.is_test else Severity.WARN, file, said, None, target)


def _mode(file: FileDiff) -> Iterator[Finding]:
    old, new = file.patch.old_mode, file.patch.new_mode
    if old and new and old != new and not file.is_link:
        yield at(_CODE, Severity.NOTE, file, f"the mode goes from {old:o} to {new:o}")
    elif file.created and new and new & _EXECUTABLE and not file.is_submodule:
        yield at(_CODE, Severity.NOTE, file, "a new file that can be executed")


RULE = Rule(
    code=_CODE,
    severity=Severity.BLOCK,
    catches="byte code, binaries, links, modes, paths of git's own",
    check=_check,
)

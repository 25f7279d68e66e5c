"""The hidden test files of a task as text, and where files of grading's own lie beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from swequarry.delta import FileContent, TreeDelta
from swequarry.git.store import list_files
from swequarry.git.trees import TreeWorkbench
from swequarry.records import TestId, sha256_hex
from swequarry.verify.candidate import Case, overlaid
from swequarry.verify.targets import path_bytes
from swequarry.verify.testsource import TestSource, file_of, function_name


@dataclass(slots=True)
class HiddenFile:
    """A hidden test file and the names of its functions that FAIL_TO_PASS names, with their ids."""

    path: str
    source: TestSource
    tests: dict[str, list[TestId]] = field(default_factory=dict)


def hidden_files(case: Case, gold: TreeDelta) -> list[HiddenFile]:
    """Return the files with FAIL_TO_PASS tests that our Python can parse, by path."""
    found: dict[str, HiddenFile] = {}
    for test in case.fail_to_pass:
        path = file_of(test, case.test_files)
        content = gold.files.get(path_bytes(path)) if path is not None else None
        if path is None or content is None:
            continue
        source = found[path].source if path in found else TestSource.parse(content.data)
        if source is None:
            continue
        file = found.setdefault(path, HiddenFile(path=path, source=source))
        if file.source.functions([function_name(test)]):
            file.tests.setdefault(function_name(test), []).append(test)
    return [found[path] for path in sorted(found)]


def beside(path: str, data: bytes) -> str:
    """Return a name in the same folder that follows from what the file holds, which nobody has seen."""
    return f"{path[: path.rfind('/') + 1]}test_{sha256_hex(path.encode() + data)[:12]}.py"


def on_top(delta: TreeDelta, files: Mapping[str, bytes]) -> TreeDelta:
    """Return a delta with files of grading's own on top."""
    return overlaid(delta, TreeDelta(files={path_bytes(p): FileContent(data=d) for p, d in files.items()}))


def without_originals(bench: TreeWorkbench, case: Case, delta: TreeDelta) -> TreeDelta:
    """Return a delta without the hidden test files that are run: whoever looks them up finds nothing.

    Else the twins beside them could be told apart by what the originals want.
    """
    gone = {path_bytes(path) for path in case.test_files}
    known = gone.intersection(entry.path for entry in list_files(bench.place, case.base))
    files = {path: content for path, content in delta.files.items() if path not in gone}
    return TreeDelta(files=files, removed=tuple(sorted({*delta.removed, *known})))

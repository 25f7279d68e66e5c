"""The leak audit of a world: every file that is visible inside, the variables, the names.

Three parts: the environment, whose files are indexed, each package once on a machine; the checkout, of which
only what base doesn't have is new; and what the host shows, by name. Each file goes through an exact
comparison of lines first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from reconstruct.leaks.answer import Answer
from reconstruct.leaks.groups import IndexCache, grouped
from reconstruct.leaks.index import read_views
from reconstruct.leaks.judge import examine
from reconstruct.leaks.places import (
    file_name_finding,
    foreign_code,
    is_explained,
    is_second_copy,
    metadata_finding,
    name_findings,
    recorded_size,
    source_of,
)
from reconstruct.leaks.question import Question
from reconstruct.leaks.views import View, views_of
from swequarry.git.store import blob_id
from swequarry.records import LeakFinding
from swequarry.sandbox.contract import ENVIRONMENT, TESTBED
from swequarry.sandbox.visible import VisibleFile, VisibleWorld

SCANNER = 4
"""The version of the audit: raise it when the same world may now end otherwise."""
CHECKS = (
    "lines and n-grams of gold patch and hidden tests: environment, checkout, system files by name",
    "members of archives, encoded and escaped text, strings of byte code",
    "names of the task in paths and variables",
    "second copies of the project, metadata of other versions, byte code without its source",
)


@dataclass(frozen=True, kw_only=True)
class BaseTree:
    """What base is known to have: blob ids, paths, the project's distribution and version.

    `modules` are the changed modules as they would lie in site-packages (see `package_paths`).
    """

    blobs: frozenset[str]
    files: frozenset[str] = frozenset()
    modules: frozenset[str]
    project: str | None = None
    version: str | None = None


@dataclass
class Scanned:
    """What an audit found, and how much it looked at."""

    findings: list[LeakFinding] = field(default_factory=list)
    not_scanned: list[str] = field(default_factory=list)
    files: int = 0
    size_bytes: int = 0
    from_index: int = 0

    def note(self, finding: LeakFinding | None) -> None:
        """Keep a finding, once for each path and kind."""
        if finding is not None and not any(
            (known.path, known.kind) == (finding.path, finding.kind) for known in self.findings
        ):
            self.findings.append(finding)

    def count(self, file: VisibleFile) -> None:
        """Count a file."""
        self.files += 1
        self.size_bytes += file.identity[2]


class WorldScan:
    """Looks for one answer in one world."""

    def __init__(self, world: VisibleWorld, answer: Answer, base: BaseTree, indexes: Path) -> None:
        self._world = world
        self._answer = answer
        self._base = base
        self._indexes = IndexCache(indexes)
        self._sizes: dict[str, int] = {}
        self.result = Scanned()

    def run(self, variables: Mapping[str, str]) -> Scanned:
        """Scan everything; `variables` are those that every run has, by their place."""
        self._environment()
        self._checkout()
        self._host()
        scan_values(variables, self._answer, self.result)
        self.result.findings.sort(key=lambda finding: (finding.path, finding.kind))
        self.result.not_scanned = sorted(set(self.result.not_scanned))
        return self.result

    # --- the environment -------------------------------------------------------------------------

    def _environment(self) -> None:
        files = list(self._world.files(ENVIRONMENT))
        question = Question(self._answer)
        for group in grouped(files):
            index, is_known = self._indexes.index_of(group)
            question.ask(group, index)
            self.result.not_scanned += index.unread
            self.result.from_index += len(group.files) if is_known else 0
        self._answer = question.answer()
        self._by_place(files)
        self._examine(question.suspects())

    def _by_place(self, files: Iterable[VisibleFile]) -> None:
        files = list(files)
        self._sizes.update((file.path, file.identity[2]) for file in files)
        for file in files:
            self.result.count(file)
            if file.path.removeprefix(f"{TESTBED}/") in self._base.files:
                continue
            self.result.note(file_name_finding(file.path, self._answer.names))
            self.result.note(metadata_finding(file.path, self._base.project, self._base.version))
            if is_second_copy(file.path, self._base.modules) and self._is_new(file):
                told = "a module of the project among the installed packages"
                self.result.note(LeakFinding(path=file.path, kind="copy", evidence=(told,)))
            if self._is_own_code(file.path):
                self.result.note(self._foreign(file))

    def _is_new(self, file: VisibleFile) -> bool:
        return blob_id(file.read()) not in self._base.blobs

    def _is_own_code(self, path: str) -> bool:
        source = source_of(path)
        return source is not None and PurePosixPath(source).stem in self._answer.stems

    def _foreign(self, file: VisibleFile) -> LeakFinding | None:
        size = self._sizes.get(source_of(file.path) or "")
        return foreign_code(file.path, recorded_size(file.read()), size)

    def _is_explained(self, file: VisibleFile) -> bool:
        size = self._sizes.get(source_of(file.path) or "")
        return size is not None and is_explained(recorded_size(file.read()), size)

    # --- the rest --------------------------------------------------------------------------------

    def _checkout(self) -> None:
        files = [file for file in self._world.files(TESTBED) if not _is_git_object(file.path)]
        self._by_place(files)
        self._examine(files, base=self._base.blobs)

    def _host(self) -> None:
        self._examine(self._world.host_files(module_file_names(self._answer)))

    def _examine(self, files: Iterable[VisibleFile], base: frozenset[str] = frozenset()) -> None:
        for file in files:
            if self._is_explained(file):
                continue
            for view in self._views(file, base):
                if view.data is None:
                    self.result.not_scanned.append(view.path)
                self.result.note(examine(view, self._answer, own_module=self._is_own_code(view.path)))

    def _views(self, file: VisibleFile, base: frozenset[str]) -> Iterable[View]:
        if not base:
            return read_views(file)
        try:
            data = file.read()
        except OSError:
            data = None
        if data is None:
            self.result.not_scanned.append(file.path)
            return ()
        return () if blob_id(data) in base else views_of(file.path, data)


def module_file_names(answer: Answer) -> frozenset[str]:
    """Return the file names that changed modules have, whatever folder they lie in."""
    stems = answer.stems - {"__init__", "__main__"}
    return frozenset(f"{stem}{suffix}" for stem in stems for suffix in (".py", ".pyc"))


def scan_values(values: Mapping[str, str], answer: Answer, result: Scanned) -> None:
    """Look at variables, labels and the like, by their place."""
    for finding in name_findings(values, answer.names):
        result.note(finding)
    for place, text in values.items():
        for view in views_of(place, text.encode("utf-8", "surrogateescape")):
            result.note(examine(view, answer))


def _is_git_object(path: str) -> bool:
    """Whether the closure audit of the snapshot is who looks at a file; others of git's hold any text."""
    return path.startswith(f"{TESTBED}/.git/objects/")

"""A task as its attackers see it; unlike real ones they know the gold patch and the hidden tests."""

import ast
from collections.abc import Mapping
from functools import cached_property

from swequarry.git.checkout import index_lines
from swequarry.git.paths import path_text
from swequarry.git.run import run_git
from swequarry.git.store import TreeEntry, list_files
from swequarry.git.trees import TreeWorkbench
from swequarry.records import TreeSha
from swequarry.verify.candidate import Case
from swequarry.verify.targets import path_bytes

_PLAIN, _GONE = 0o100644, "0" * 40


class Target:
    """What attacks need of a task: its files, the module and functions that the fix changes, its tests."""

    def __init__(self, bench: TreeWorkbench, case: Case) -> None:
        self.bench = bench
        self.case = case

    @cached_property
    def files(self) -> Mapping[str, TreeEntry]:
        """The files of base by their paths."""
        return {path_text(entry.path): entry for entry in list_files(self.bench.place, self.case.base)}

    @cached_property
    def gold_files(self) -> tuple[str, ...]:
        """The Python files that the gold patch changes or makes, in their order."""
        changes = self.bench.changes(self.case.before, self.case.after)
        paths = [path_text(change.new_path) for change in changes if change.new_path is not None]
        return tuple(path for path in paths if path.endswith(".py"))

    @cached_property
    def module(self) -> str | None:
        """The file that the fix changes most functions of, or makes where it changes none; None without."""
        known = [path for path in self.gold_files if path in self.files]
        return max(known or self.gold_files, key=lambda path: len(self._changed(path)), default=None)

    @cached_property
    def names(self) -> list[str]:
        """The functions of the module, as `f` or `Class.f`, that differ between base and fix."""
        return self._changed(self.module) if self.module is not None else []

    @property
    def tests(self) -> str:
        """The folder of the first hidden test file that is run; empty for the top."""
        return self.case.test_files[0].rpartition("/")[0]

    @property
    def package(self) -> str:
        """The folder of the module that the fix changes; empty for the top."""
        return (self.module or "").rpartition("/")[0]

    def named(self, text: str) -> str:
        """Return a text with the names of the task's folders and files in it."""
        stem = (self.module or "none.py").removesuffix(".py").rpartition("/")[2]
        for word, folder in (("{tests}/", self.tests), ("{package}/", self.package)):
            text = text.replace(word, f"{folder}/" if folder else "")
        return text.replace("{stem}", stem).replace("{test_file}", self.case.test_files[0])

    def read(self, path: str, tree: TreeSha | None = None) -> bytes | None:
        """Return a file of base, or of another tree; None where there is none."""
        entries = self.files
        if tree is not None:
            entries = {path_text(entry.path): entry for entry in list_files(self.bench.place, tree)}
        entry = entries.get(path)
        return run_git(["cat-file", "blob", entry.sha], self.bench.place) if entry is not None else None

    def patch(self, changes: Mapping[str, bytes | None], *, mode: int = _PLAIN) -> bytes:
        """Return the patch that gives files of base other contents, or none."""
        return self.bench.diff(self.case.base, self.tree(self.case.base, changes, mode))

    def patch_module(self, addition: str) -> bytes | None:
        """Return the patch that adds code to the end of the module that the fix changes."""
        if self.module is None:
            return None
        return self.patch({self.module: (self.read(self.module) or b"") + b"\n\n" + addition.encode("utf-8")})

    def gold(self, changes: Mapping[str, bytes | None] | None = None) -> bytes:
        """Return the gold patch as a candidate would hand it in, with more changes on top."""
        paths = [path for c in self.bench.changes(self.case.before, self.case.after) for path in c.paths]
        fixed = self.bench.compose(self.case.base, self.case.after, paths)
        return self.bench.diff(self.case.base, self.tree(fixed, changes or {}, _PLAIN))

    def tree(self, tree: TreeSha, changes: Mapping[str, bytes | None], mode: int = _PLAIN) -> TreeSha:
        """Return a tree with other contents of some files; None takes a file away."""
        entries = []
        for path, data in changes.items():
            sha, kind = _GONE, 0
            if data is not None:
                sha = run_git(["hash-object", "-w", "--stdin"], self.bench.place, stdin=data).decode().strip()
                kind = mode
            entries.append(TreeEntry(path=path_bytes(path), mode=kind, kind="blob", sha=sha))
        run_git(["read-tree", tree], self.bench.place)
        run_git(["update-index", "-z", "--index-info"], self.bench.place, stdin=index_lines(entries))
        made = run_git(["write-tree", "--missing-ok"], self.bench.place).decode("ascii").strip()
        return TreeSha(made)

    def _changed(self, path: str) -> list[str]:
        old, new = (functions(self.read(path, tree) or b"") for tree in (self.case.base, self.case.after))
        return sorted(name for name, body in new.items() if old.get(name) != body)


def functions(source: bytes) -> dict[str, str]:
    """Return the functions of a module and of its classes, by dotted name, with what they do."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for node in tree.body:
        members = (
            [(f"{node.name}.", inner) for inner in node.body]
            if isinstance(node, ast.ClassDef)
            else [("", node)]
        )
        for prefix, inner in members:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                found[prefix + inner.name] = ast.dump(inner)
    return found

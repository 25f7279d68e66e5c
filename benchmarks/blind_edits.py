"""The tree that a recipe of `blind_cheats.jsonl` edits, and the operations that it may name."""

import ast
import base64
import fnmatch
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from swequarry.errors import ConfigError


@dataclass(slots=True, kw_only=True)
class Tree:
    """The files of a base commit, read from a mirror when they are asked for, with the edits made so far."""

    mirror: Path
    commit: str
    now: dict[str, bytes | None] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def before(self, path: str) -> bytes | None:
        """The bytes of a file at the base commit, None where there is no such file."""
        return _blob(self.mirror, self.commit, path)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file with the edits so far."""
        return self.now[path] if path in self.now else self.before(path)

    def text(self, path: str) -> str:
        """The text of a file that has to be there.

        Raises:
            ConfigError: There is no such file.
        """
        data = self.read(path)
        if data is None:
            raise ConfigError(f"{path} isn't in {self.commit[:12]}")
        return data.decode("utf-8")

    def put(self, path: str, text: str) -> None:
        """Replace a file's text."""
        self.now[path] = text.encode("utf-8")

    def names(self) -> tuple[str, ...]:
        """All files of the base commit."""
        return _names(self.mirror, self.commit)


@cache
def _blob(mirror: Path, commit: str, path: str) -> bytes | None:
    if path not in _names(mirror, commit):
        return None
    return _git(mirror, "show", f"{commit}:{path}")


@cache
def _names(mirror: Path, commit: str) -> tuple[str, ...]:
    return tuple(_git(mirror, "ls-tree", "-r", "-z", "--name-only", commit).decode("utf-8").split("\0")[:-1])


def _git(where: Path, *args: str) -> bytes:
    done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, check=False)
    if done.returncode != 0:
        raise ConfigError(
            f"git {' '.join(args)} in {where}: {done.stderr.decode('utf-8', 'replace').strip()}"
        )
    return done.stdout


def apply_gold(tree: Tree, patch: str) -> None:
    """Bring the files of a tree to the state of the row's own fix.

    Raises:
        ConfigError: The fix doesn't apply to the base commit.
    """
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        touched = {
            side for line in patch.splitlines() for side in re.findall(r"^(?:---|\+\+\+) [ab]/(.+)$", line)
        }
        lay_out(there, {path: tree.before(path) for path in touched}, {})
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            cwd=there,
            input=patch.encode(),
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise ConfigError(f"the gold patch doesn't apply: {done.stderr.decode('utf-8', 'replace')}")
        for path in touched:
            tree.now[path] = (there / path).read_bytes() if (there / path).exists() else None


def lay_out(folder: Path, files: Mapping[str, bytes | None], links: Mapping[str, str]) -> None:
    """Write files and symbolic links below a folder; a file whose bytes are None isn't there."""
    for path, data in files.items():
        if data is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
    for path, target in links.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).symlink_to(target)


def diff_of(tree: Tree) -> bytes:
    """What git says between both states of the touched files, in a throw-away repository."""
    with tempfile.TemporaryDirectory() as folder:
        there, store = Path(folder) / "work", Path(folder) / "store"
        trees = []
        _git(Path(folder), "init", "--quiet", "--bare", str(store))
        before = {path: tree.before(path) for path in {*tree.now, *tree.links}}
        no_links: dict[str, str] = {}
        for files, links in ((before, no_links), (tree.now, tree.links)):
            shutil.rmtree(there, ignore_errors=True)
            there.mkdir()
            lay_out(there, files, links)
            _git(store, "--work-tree", str(there), "add", "--all", "--force", ".")
            trees.append(_git(store, "write-tree").decode().strip())
        return _git(store, "diff", "--binary", "--no-renames", "--no-ext-diff", "--no-color", *trees)


def _place(lines: list[str], anchor: str, nth: int | None) -> int:
    """The index of the line that an anchor means."""
    found = [at for at, line in enumerate(lines) if line.strip() == anchor.strip()]
    if not found or (nth is None and len(found) > 1) or (nth is not None and nth > len(found)):
        raise ConfigError(f"the anchor stands {len(found)} times (nth={nth}): {anchor!r}")
    return found[(nth or 1) - 1]


def _write(tree: Tree, edit: Mapping[str, Any]) -> None:
    tree.now[edit["path"]] = (
        base64.b64decode(edit["base64"]) if "base64" in edit else edit["text"].encode("utf-8")
    )


def _append(tree: Tree, edit: Mapping[str, Any]) -> None:
    text = tree.text(edit["path"])
    tree.put(edit["path"], text + ("" if text.endswith("\n") else "\n") + edit["text"])


def _insert(tree: Tree, edit: Mapping[str, Any]) -> None:
    lines = tree.text(edit["path"]).splitlines(keepends=True)
    at = _place(lines, edit["anchor"], edit.get("nth")) + (edit["op"] == "insert_after")
    lines.insert(at, edit["text"])
    tree.put(edit["path"], "".join(lines))


def _replace(tree: Tree, edit: Mapping[str, Any]) -> None:
    lines = tree.text(edit["path"]).splitlines(keepends=True)
    at = _place(lines, edit["anchor"], edit.get("nth"))
    lines[at : at + edit.get("lines", 1)] = [edit["text"]]
    tree.put(edit["path"], "".join(lines))


def _delete(tree: Tree, edit: Mapping[str, Any]) -> None:
    tree.text(edit["path"])
    tree.now[edit["path"]] = None


def _delete_lines(tree: Tree, edit: Mapping[str, Any]) -> None:
    lines = tree.text(edit["path"]).splitlines(keepends=True)
    start = _place(lines, edit["from"], edit.get("nth"))
    end = start + _place(lines[start:], edit["to"], 1)
    del lines[start : end + 1]
    tree.put(edit["path"], "".join(lines))


def _function(text: str, dotted: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef:
    scope: Any = ast.parse(text)
    for name in dotted.split("."):
        inside = [
            node for node in ast.walk(scope) if getattr(node, "name", None) == name and hasattr(node, "body")
        ]
        if not inside:
            raise ConfigError(f"no function {dotted}")
        scope = inside[0]
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        raise ConfigError(f"{dotted} isn't a function")
    return scope


def _delete_function(tree: Tree, edit: Mapping[str, Any]) -> None:
    text = tree.text(edit["path"])
    node = _function(text, edit["function"])
    lines = text.splitlines(keepends=True)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    del lines[first - 1 : node.end_lineno]
    tree.put(edit["path"], "".join(lines))


def _body(tree: Tree, edit: Mapping[str, Any]) -> None:
    """Give a function another body; its docstring stays unless `docstring` is false."""
    text = tree.text(edit["path"])
    node = _function(text, edit["function"])
    lines = text.splitlines(keepends=True)
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(node.body) > 1
    start = node.body[1] if documented and edit.get("docstring", True) else first
    lines[start.lineno - 1 : node.end_lineno] = [edit["text"]]
    tree.put(edit["path"], "".join(lines))


def _substitute(tree: Tree, edit: Mapping[str, Any]) -> None:
    """A regular expression over all files of a pattern; at least one has to change."""
    changed = False
    for path in fnmatch.filter(tree.names(), edit["files"]):
        before = tree.text(path)
        after = re.sub(edit["pattern"], edit["text"], before, flags=re.MULTILINE)
        if after != before:
            tree.put(path, after)
            changed = True
    if not changed:
        raise ConfigError(f"{edit['pattern']!r} is in no file of {edit['files']!r}")


def _vendor(tree: Tree, edit: Mapping[str, Any]) -> None:
    """Copy files of a later commit of the same project: `from` is a prefix there, `to` the prefix here."""
    there = [name for name in _names(tree.mirror, edit["commit"]) if name.startswith(edit["from"])]
    for name in there:
        if re.search(edit.get("only", ""), name):
            tree.now[edit["to"] + name.removeprefix(edit["from"])] = _blob(tree.mirror, edit["commit"], name)
    if not there:
        raise ConfigError(f"nothing under {edit['from']} in {edit['commit']}")


def _symlink(tree: Tree, edit: Mapping[str, Any]) -> None:
    tree.now[edit["path"]] = None
    tree.links[edit["path"]] = edit["target"]


OPERATIONS: Mapping[str, Callable[[Tree, Mapping[str, Any]], None]] = {
    "write": _write,
    "append": _append,
    "insert_after": _insert,
    "insert_before": _insert,
    "replace": _replace,
    "delete": _delete,
    "delete_lines": _delete_lines,
    "delete_function": _delete_function,
    "body": _body,
    "substitute": _substitute,
    "vendor": _vendor,
    "symlink": _symlink,
}

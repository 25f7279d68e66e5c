"""Small source trees, written inline by the tests of environment evidence and plans."""

from collections.abc import Mapping
from pathlib import Path

from reconstruct.environment.evidence.tree import Notebook, SourceTree


def make_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def opened(root: Path, files: Mapping[str, str | bytes]) -> tuple[SourceTree, Notebook]:
    return SourceTree.open(make_tree(root, files)), Notebook()

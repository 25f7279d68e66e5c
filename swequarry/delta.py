"""Changes to a working tree as plain bytes: made by git/, put in place by sandboxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """A file to put into a sandbox: git mode 0o100644, 0o100755 or 0o120000 (data is the link's target)."""

    data: bytes
    mode: int = 0o100644


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDelta:
    """Changes to /testbed relative to a world: files to write byte-exact and paths to remove.

    Paths are relative to /testbed, bytes as git has them. A removed folder goes with its content;
    removals come first.
    """

    files: Mapping[bytes, FileContent] = field(default_factory=dict)
    removed: tuple[bytes, ...] = ()

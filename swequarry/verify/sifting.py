"""Which changes of a candidate cross over into the graded run, and what was left behind and why.

What decides is the path, the kind of file, and what the base, the hidden tests and the gold patch have there;
never the intention. Leaving a file behind proves nothing: honest people edit `conftest.py`. Codes are those
of the catalogue of ways to tamper: R1 conftest, R2 settings of pytest, R3 what Python loads at its start,
R4 shadows of modules, R13 tests, R15 byte code, R16 git, R17 odd files.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from swequarry.git.paths import path_text
from swequarry.git.testpaths import PathRole, classify_path, is_test_folder
from swequarry.git.trees import ChangedPath
from swequarry.verify.pytestconfig import is_config

_REGULAR = frozenset({0o100644, 0o100755})
_LINK = 0o120000
_MAX_PART, _MAX_PATH, _MAX_BYTES = 200, 2000, 64 << 20
_STARTUP_FILE = re.compile(
    rb"(?:site|user)customize(?:\.[^/]*)?|[^/]*\.(?:pth|egg-link|egg|whl)|\.pdbrc|pyvenv\.cfg"
)
_STARTUP_FOLDER = re.compile(rb"[^/]*\.(?:dist-info|egg-info|egg)|(?:site|user)customize|egg-info")
_BYTE_CODE = re.compile(rb"[^/]*\.py[cod]|__pycache__")
_NATIVE = re.compile(rb"[^/]*\.(?:so|pyd|dll|dylib|o|a|exe)(?:\.[0-9.]+)?")
_MODULE = re.compile(rb"([A-Za-z_]\w*)(?:\.py|\.pyc|\.[\w.-]*so|\.pyd)?")
_TEST_NAMED = re.compile(rb"(?:tests?_[^/]*|[^/]*_tests?|tests?)\.py", re.IGNORECASE)


class Fate(StrEnum):
    """What becomes of one changed path of a candidate."""

    CROSSES = "crosses"
    BASE = "base"
    GOLD = "gold"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that didn't cross over, or was seen: a code of the catalogue, a place, one sentence."""

    code: str
    place: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What changes are held against.

    `base` has the modes of the base tree by path, `hidden` the paths that the test patch touches, `gold`
    those of the gold patch. `names` can be imported from the environment, `roots` are folders of the
    checkout on sys.path (`.` is the top), `targets` the test files that are run, `scripts` what runs them.
    """

    base: Mapping[bytes, int]
    hidden: Collection[bytes]
    gold: Collection[bytes]
    names: Collection[str]
    roots: Collection[bytes]
    targets: Collection[bytes]
    scripts: Collection[bytes] = ()

    def support_folders(self) -> frozenset[bytes]:
        """Return folders named as those of tests that hold no tests at base: a library for others' tests.

        They are code that can be wrong like any other (`django/test/client.py`).
        """
        found: dict[bytes, bool] = {}
        for path in self.base:
            folder = test_folder(path)
            if folder is not None and path.endswith(b".py"):
                named = _TEST_NAMED.fullmatch(path.rsplit(b"/", 1)[-1]) is not None
                found[folder] = found.get(folder, False) or named
        return frozenset(folder for folder, holds_tests in found.items() if not holds_tests)

    def import_folders(self) -> frozenset[bytes]:
        """Return the folders from which Python or pytest may import top-level modules."""
        folders = {b"", b"src", b"lib", *(b"" if root == b"." else root for root in self.roots)}
        for target in self.targets:
            parts = target.split(b"/")[:-1]
            folders.update(b"/".join(parts[:end]) for end in range(len(parts) + 1))
        return frozenset(folders)


def test_folder(path: bytes) -> bytes | None:
    """Return the topmost folder of a path that is named as one of tests, None where there is none."""
    parts = path.split(b"/")
    for end in range(1, len(parts)):
        if is_test_folder(parts[end - 1], top=end == 1):
            return b"/".join(parts[:end])
    return None


class Sieve:
    """Decides about the changed paths of one candidate, one by one."""

    def __init__(self, ground: Ground, sizes: Mapping[str, int]) -> None:
        self._ground = ground
        self._sizes = sizes
        self._support = ground.support_folders()
        self._folders = ground.import_folders()

    def judge(self, change: ChangedPath) -> tuple[Fate, Note | None]:
        """Return what becomes of a change and, unless it simply crosses over, why."""
        path = change.new_path or change.old_path or b""
        for code, detail in filter(
            None, (self._odd(path, change), self._startup(path), self._shadow(path, change))
        ):
            return Fate.BASE, Note(code=code, place=path_text(path), detail=detail)
        control = path.rsplit(b"/", 1)[-1] == b"conftest.py" or path in self._ground.scripts
        if path in self._ground.hidden:
            return Fate.BASE, self._test_note(path, change, control=control)
        if is_config(path) and test_folder(path) is None:
            return Fate.SETTINGS, None
        if path in self._ground.gold and not control:
            return Fate.CROSSES, None
        if not control and not self._is_test(path):
            return Fate.CROSSES, None
        fate = Fate.GOLD if path in self._ground.gold else Fate.BASE
        return fate, self._test_note(path, change, control=control)

    def _odd(self, path: bytes, change: ChangedPath) -> tuple[str, str] | None:
        """Return whether a path is git's, or one that no project has, or no plain file."""
        parts = path.split(b"/")
        if any(part.lower() in {b".git", b"git~1"} for part in parts):
            return "R16", "a file of git's own"
        if parts[-1].lower() == b".gitattributes" and path not in self._ground.gold:
            return "R16", "attributes decide how git writes files"
        if len(path) > _MAX_PATH or max(map(len, parts)) > _MAX_PART or re.search(rb"[\x00-\x1f\x7f]", path):
            return "R17", "a path that no project has"
        return None if change.new_path is None else self._no_plain_file(path, change)

    def _no_plain_file(self, path: bytes, change: ChangedPath) -> tuple[str, str] | None:
        if change.new_mode not in _REGULAR and not (change.new_mode == _LINK and path in self._ground.gold):
            return "R17", "a link or submodule, not a file"
        if self._sizes.get(change.new_sha, 0) > _MAX_BYTES:
            return "R17", f"larger than {_MAX_BYTES >> 20} MiB"
        return None

    def _startup(self, path: bytes) -> tuple[str, str] | None:
        if path in self._ground.gold:
            return None
        parts = [part.lower() for part in path.split(b"/")]
        if any(_BYTE_CODE.fullmatch(part) for part in parts):
            return "R15", "byte code: it hides what the source says"
        if _NATIVE.fullmatch(parts[-1]):
            return "R15", "compiled code, which can't be read"
        if _STARTUP_FILE.fullmatch(parts[-1]) or any(_STARTUP_FOLDER.fullmatch(part) for part in parts[:-1]):
            return "R3", "Python or pytest would load it by itself"
        return None

    def _shadow(self, path: bytes, change: ChangedPath) -> tuple[str, str] | None:
        """Return whether a path makes a new top-level module with a name that the environment has."""
        if change.new_path is None or path in self._ground.gold:
            return None
        parts = path.split(b"/")
        for place in range(len(parts)):
            folder, match = b"/".join(parts[:place]), _MODULE.fullmatch(parts[place])
            if match is None or folder not in self._folders:
                continue
            name, last = match[1], place == len(parts) - 1
            if last is not (parts[place] != name) or name.decode() not in self._ground.names:
                continue
            if not self._in_base(folder, name, path):
                return "R4", f"a new module `{name.decode()}` would stand before the environment's"
        return None

    def _in_base(self, folder: bytes, name: bytes, path: bytes) -> bool:
        """Whether base has a module of this name there, or a folder that `path` doesn't make one."""
        start = folder + b"/" + name if folder else name
        base, package = self._ground.base, start + b"/__init__.py"
        if package in base or any(start + end in base for end in (b".py", b".pyx", b".so")):
            return True
        inside = path.startswith(start + b"/") and path != package
        return inside and any(known.startswith(start + b"/") for known in base)

    def _is_test(self, path: bytes) -> bool:
        if classify_path(path) is not PathRole.TEST:
            return False
        folder = test_folder(path)
        if folder in self._support:
            return False
        beside = {target.rpartition(b"/")[0] for target in self._ground.targets}
        return folder is not None or path in self._ground.base or path.rpartition(b"/")[0] in beside

    def _test_note(self, path: bytes, change: ChangedPath, *, control: bool) -> Note:
        known = path in self._ground.base or path in self._ground.hidden
        done = "deleted" if change.new_path is None else "changed" if known else "added"
        return Note(
            code="R1" if control else "R2" if is_config(path) else "R13",
            place=path_text(path),
            detail=f"{done} by the candidate; grading has {'its own' if known else 'none'}",
        )

"""Worlds: the snapshot, and the environment that was built for it."""

from dataclasses import dataclass
from datetime import datetime

from swequarry.records.base import (
    BlobHash,
    CommitSha,
    ContentHash,
    Record,
    TreeSha,
    canonical_json,
    sha256_hex,
)
from swequarry.records.sources import RepoRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureAudit(Record):
    """What the closure audit of a snapshot checked; empty `findings` means sealed."""

    objects: int
    checks: tuple[str, ...]
    findings: tuple[str, ...] = ()
    missing_blobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFix(Record):
    """Where the ancestors of a base commit hold the fix.

    `rule` is `lines`, `patch-id` or `reverse-patch-id`; by the first, `lines_found` of the fix's
    `lines_added` distinctive lines are in old versions. `commit` has most of them, in the file `path`.
    """

    rule: str
    commit: CommitSha
    path: str
    lines_found: int = 0
    lines_added: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmoduleFiles(Record):
    """A submodule whose files are in a snapshot: where, of which commit, and one hash of all that it holds.

    `files` covers path, mode and git's id of every file; those of nested submodules have their own record.
    `absent` are files whose content a partial mirror lacks.
    """

    path: str
    commit: CommitSha
    files: ContentHash
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Record):
    """The repository at the base commit with no way forward.

    `history` is what was kept of the ancestors: where `fix_in_ancestors` says that they hold the fix, it is
    `none`, whatever was asked for. `unread` are files whose old versions couldn't all be searched for it.
    `submodules` are the folders of all submodules; those without `submodule_files` are empty.
    """

    repo: RepoRef
    base_commit: CommitSha
    base_tree: TreeSha
    history: str
    tags: tuple[str, ...] = ()
    audit: ClosureAudit
    lfs_pointers: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()
    submodule_files: tuple[SubmoduleFiles, ...] = ()
    fix_in_ancestors: FoundFix | None = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Record):
    """One finding about how a project wants to be built: a key, a value, and its place."""

    key: str
    value: str
    path: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(Record):
    """How an environment is built; data, whoever proposed it.

    `requirements` must install and are resolved together with the project; `optional` may lose any
    member and never change the first tier. `python` is `3.9`. `build_constraints` bound the build
    back-ends. `exempt` maps a distribution to the later cut-off that it needs. `install` says how the
    project itself is installed: `editable`, `legacy-editable`, `path` (only put on sys.path).
    `test_command` runs inside the world and ends where test files are appended.
    """

    python: str
    cutoff: datetime
    project_name: str | None = None
    install: str = "editable"
    extras: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    build_constraints: tuple[str, ...] = ()
    build_requirements: tuple[str, ...] = ()
    build_isolation: bool = True
    build_cutoff: datetime | None = None
    exempt: tuple[tuple[str, datetime], ...] = ()
    local_packages: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    test_framework: str = "pytest"
    test_command: tuple[str, ...] = ("python", "-m", "pytest")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentTry(Record):
    """One attempt at a recipe: what it was, how it ended, which rule proposed the next."""

    recipe: ContentHash
    result: str
    rule: str | None = None
    decisive_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(Record):
    """Interpreter and locked dependencies as of the cut-off.

    `lock` names a blob: hashed requirement lines of everything that is installed. `python_version` is
    the full version that ran. `evidence` is what the recipe was made from.
    """

    backend: str
    python_version: str
    recipe: Recipe
    lock: BlobHash
    project_version: str | None = None
    evidence: tuple[Evidence, ...] = ()
    tries: tuple[EnvironmentTry, ...] = ()

    def identity(self) -> ContentHash:
        """Return the hash that addresses the environment: lock + recipe + interpreter + backend."""
        named = {
            "backend": self.backend,
            "python": self.python_version,
            "lock": self.lock,
            "recipe": self.recipe.to_json(),
        }
        return ContentHash(sha256_hex(canonical_json(named)))

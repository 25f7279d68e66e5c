"""Where a repository lies: at the user's path template, else in a clone of ours in the cache."""

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from swequarry.errors import GitError, RepositoryError
from swequarry.git.clones import OURS, Clones, fetch_objects, is_partial, make_partial, refs_of
from swequarry.git.repository import Repository
from swequarry.git.run import Place, run_git
from swequarry.git.store import missing_objects, store_view
from swequarry.records import CommitSha, RepoRef

_SAFE_NAME = re.compile(r"[A-Za-z0-9._-]+")
__all__ = ["OURS", "MirrorLocator", "fetch_commit"]

_REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+refs/pull/*/head:refs/pull/*/head")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorLocator:
    """Finds repositories.

    `template` is a path with `{owner}` and `{name}`; `url` a template to clone from where nothing lies
    there; `cache` the folder of our clones, which take `budget_bytes` together but for those in use. Where
    `partial` is set they are made without blobs, which `complete` brings as they are needed.
    """

    template: str | None
    url: str
    cache: Path
    partial: bool = False
    budget_bytes: int | None = None
    clones: Clones = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Know the clones."""
        object.__setattr__(self, "clones", Clones(folder=self.cache, budget_bytes=self.budget_bytes))

    def locate(self, repo: RepoRef) -> Repository:
        """Open the user's mirror, else our clone, else clone it now, whole or not at all.

        A clone of ours is in use from then on, until `clones.release`.

        Raises:
            RepositoryError: neither the template nor the URL gives a repository.
        """
        for part in (repo.owner, repo.name):
            if not _SAFE_NAME.fullmatch(part) or part in {".", ".."}:
                raise RepositoryError(f"{repo.full_name} isn't an `owner/name` of a repository")
        if self.template is not None:
            path = Path(self.template.format(owner=repo.owner, name=repo.name)).expanduser()
            if path.exists():
                return Repository.open(path)
        name = f"{repo.owner}+{repo.name}"
        cached = self.clones.path(name)
        self.clones.hold(name)
        if not cached.exists():
            self._clone(_whole_url(self.url.format(owner=repo.owner, name=repo.name)), cached)
            self.clones.make_room()
        return Repository.open(cached)

    def refs(self, repo: RepoRef) -> bytes:
        """Return HEAD and all refs of a repository; of a clone that was removed for room, those that it had.

        Raises:
            RepositoryError, GitError: it must be cloned and can't be, or can't be read.
        """
        found = self.at_hand(repo)
        kept = None if found else self.clones.refs(f"{repo.owner}+{repo.name}")
        return kept if kept is not None else refs_of(found or self.locate(repo))

    def complete(self, repository: Repository, shas: Sequence[str]) -> bool:
        """Bring blobs that a partial clone of ours lacks; return whether any was brought.

        Raises:
            GitError: the server doesn't give them.
        """
        if not shas or not is_partial(repository):
            return False
        with store_view(repository.objects) as place:
            absent = sorted(missing_objects(place, sorted(set(shas))))
        if absent:
            fetch_objects(repository, absent)
        return bool(absent)

    def at_hand(self, repo: RepoRef) -> Repository | None:
        """Open the user's mirror or our clone; None where there is neither. Never clones."""
        names = (repo.owner, repo.name)
        if not all(_SAFE_NAME.fullmatch(part) and part not in {".", ".."} for part in names):
            return None
        template = self.template
        paths = [Path(template.format(owner=repo.owner, name=repo.name)).expanduser()] if template else []
        for path in (*paths, self.cache / f"{repo.owner}+{repo.name}.git"):
            with suppress(RepositoryError):
                return Repository.open(path)
        return None

    def _clone(self, url: str, destination: Path) -> None:
        self.cache.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=self.cache))
        try:
            clone = scratch / "clone"
            _fetch_whole(url, clone, partial=self.partial)
            _move_into_place(clone, destination)
        except GitError as error:
            wanted = f" and nothing lies at {self.template}" if self.template else ""
            raise RepositoryError(
                f"{url} can't be cloned{wanted}: {error}; check name and network, or set source.mirror"
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _whole_url(url: str) -> str:
    """Return a URL that means the same in every folder: a relative path becomes absolute."""
    return os.fspath(Path(url).absolute()) if Path(url).exists() else url


def _fetch_whole(url: str, clone: Path, *, partial: bool) -> None:
    # `clone --mirror` would also bring refs/pull/*/merge, thousands of commits that nobody wrote.
    run_git(["init", "--quiet", "--bare", "--template=", os.fspath(clone)], Place())
    place = Place(git_dir=clone, network=True)
    if partial:
        make_partial(clone, url)
    source = ["--filter=blob:none", "origin"] if partial else ["--end-of-options", url]
    run_git(["fetch", "--quiet", "--no-tags", *source, *_REFSPECS], place)
    head = run_git(["ls-remote", "--symref", "--end-of-options", url, "HEAD"], place)
    if match := re.search(rb"^ref: (refs/heads/\S+)\tHEAD$", head, re.MULTILINE):
        run_git(["symbolic-ref", "HEAD", match[1]], place)
    (clone / OURS).write_text("made by swequarry; may be deleted when nothing runs\n", encoding="utf-8")


def _move_into_place(clone: Path, destination: Path) -> None:
    try:
        clone.rename(destination)
    except OSError:
        if not destination.exists():  # another worker was faster: its clone is as good as ours
            raise


def fetch_commit(repository: Repository, sha: CommitSha, url: str) -> bool:
    """Bring a commit that a clone of ours lacks: by its id, then by all pull request refs and full depth.

    Returns whether the commit is there now. A repository of the user is never changed.
    """
    if repository.has(sha):
        return True
    if not (repository.path / OURS).exists():
        return False
    place = Place(git_dir=repository.path, network=True)
    deepen = ["--unshallow"] if (repository.path / "shallow").exists() else []
    for options, wanted in (([], [sha]), (deepen, _REFSPECS)):
        command = ["fetch", "--quiet", "--no-tags", *options, "--end-of-options", _whole_url(url), *wanted]
        with suppress(GitError):  # many servers refuse bare ids
            run_git(command, place)
        if repository.has(sha):
            return True
    return False

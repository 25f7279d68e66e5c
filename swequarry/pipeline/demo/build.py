"""Makes the example repository and its issue file on disk."""

import json
import shutil
import tempfile
from pathlib import Path

from swequarry.errors import GitError
from swequarry.git.run import Place, run_git
from swequarry.pipeline.demo.pulls import ISSUES, PULLS
from swequarry.pipeline.demo.stream import write_stream
from swequarry.records import RepoRef

REPO = RepoRef(owner="tally", name="tally")
HEAD = "41345e78b39a7abbfd5b1d75bf5fe213afae55e4"
"""The commit that main must end at; it fixes every byte of the story."""
LANDED = {11: "826061994b8e9382eb02965d70bda3f05ee0aaf1"}
"""The commits of pull requests that a later one reverts by name."""
MIRROR_TEMPLATE = "{owner}+{name}"


def build_repository(folder: Path) -> Path:
    """Make the repository as a bare mirror with pull request refs below a folder, if it isn't there.

    Raises:
        GitError: git doesn't make the commit that the story is fixed by.
    """
    folder = folder.absolute()
    destination = folder / MIRROR_TEMPLATE.format(owner=REPO.owner, name=REPO.name)
    if destination.is_dir():
        return destination
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".demo-", dir=folder))
    try:
        repository = work / "repository"
        run_git(["init", "--quiet", "--bare", "--initial-branch=main", str(repository)], Place())
        here = Place(git_dir=repository)
        run_git(["fast-import", "--quiet"], here, stdin=write_stream(PULLS, LANDED))
        made = run_git(["rev-parse", "refs/heads/main"], here).decode("ascii").strip()
        if made != HEAD:
            raise GitError(f"the example repository ends at {made} instead of {HEAD}")
        repository.rename(destination)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return destination


def write_issues(path: Path) -> None:
    """Write the issues as JSON lines, as source `git` reads them."""
    lines = [
        json.dumps(
            {"repo": REPO.full_name, "number": issue.number, "title": issue.title, "body": issue.body},
            ensure_ascii=False,
        )
        for issue in ISSUES
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

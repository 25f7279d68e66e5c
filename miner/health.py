"""How well a repository is kept, as its history and a tree of it say."""

import re
from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta

from miner.rules.interface import Health
from swequarry.config import HealthSettings
from swequarry.git.history import History
from swequarry.git.repository import Repository
from swequarry.git.testpaths import is_test_module
from swequarry.records import TreeSha

_YEAR = timedelta(days=365)
_CI = re.compile(
    rb"\.github/workflows/[^/]+\.ya?ml|\.travis\.yml|\.gitlab-ci\.yml|\.?appveyor\.yml|azure-pipelines\.yml"
    rb"|\.azure-pipelines/.+|\.circleci/config\.yml|circle\.yml|\.cirrus\.(?:yml|star)|\.drone\.yml"
    rb"|\.buildkite/.+|Jenkinsfile|\.woodpecker(?:\.yml|/.+)|\.builds?\.yml|\.builds/.+|bitbucket-pipelines\.yml"
)


class Activity:
    """When pull requests were merged in one history."""

    def __init__(self, history: History) -> None:
        self._days = sorted(pull.record.merged_at for pull in history.pulls if pull.record.merged_at)

    def in_the_year_up_to(self, moment: datetime | None) -> int | None:
        """Return how many were merged in the year up to a moment, itself included."""
        if moment is None:
            return None
        return bisect_right(self._days, moment) - bisect_left(self._days, moment - _YEAR)


def health_at(
    repository: Repository, tree: TreeSha, wanted: HealthSettings, pulls_a_year: int | None, stars: int | None
) -> Health:
    """Return what is known of a repository at a tree; its files are listed only where the settings ask.

    Raises:
        GitError: the tree can't be read.
    """
    if not (wanted.tests or wanted.ci):
        return Health(pulls_a_year=pulls_a_year, stars=stars)
    paths = repository.git(["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree]).split(b"\0")
    return Health(
        has_tests=any(map(is_test_module, paths)),
        has_ci=any(map(_CI.fullmatch, paths)),
        pulls_a_year=pulls_a_year,
        stars=stars,
    )


def root_commits(repository: Repository, tip: str) -> tuple[str, ...]:
    """Return the commits without parents below a tip, sorted; none of a shallow clone, which lacks them.

    Raises:
        GitError: the history can't be read.
    """
    if repository.git(["rev-parse", "--is-shallow-repository"]).strip() == b"true":
        return ()
    return tuple(sorted(repository.git(["rev-list", "--max-parents=0", tip]).decode("ascii").split()))

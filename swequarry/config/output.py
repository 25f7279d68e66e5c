"""What goes out, and where a run stops spending."""

from pydantic import Field

from swequarry.config.section import Moment, RepositoryPattern, Section


class ExportSettings(Section):
    """What the dataset holds. `include_statement_from_commits` lets such tasks into the release."""

    include_statement_from_commits: bool = False
    name: str = "swequarry-dataset"


class ReleaseSettings(Section):
    """How `swequarry release` divides and times tasks.

    In the test split are the repositories of `test_repositories` (`owner/name`, or a pattern such as
    `owner/*`), about a share `test_share` of all repositories (by the hash of their names, so that none
    changes sides when others come in), and what was merged on or after `test_since`. Everything else trains;
    where none of the three is set, everything tests. A run of the tests may take `test_time_multiple` times
    the slowest one that was measured, a solver `solver_time_multiple` times that, and no less than before.
    """

    test_repositories: tuple[RepositoryPattern, ...] = ()
    test_share: float | None = Field(default=None, ge=0, le=1)
    test_since: Moment | None = None
    test_time_multiple: int = Field(default=5, ge=1)
    solver_time_multiple: int = Field(default=20, ge=1)


class PolicySettings(Section):
    """What a run spends where.

    After `stop_after_failures` candidates of a repository were rejected for one cause that is the
    repository's, and none between them got past it, the rest of the repository isn't tried. None: all are.
    """

    stop_after_failures: int | None = Field(default=None, ge=1)

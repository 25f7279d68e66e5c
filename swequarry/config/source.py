"""Where candidates come from."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from swequarry.config.section import Section


class GithubSettings(Section):
    """How GitHub's API is asked. Tokens come from the environment: `GITHUB_TOKEN`, `GITHUB_TOKENS`.

    `api` is `https://HOST/api/v3` for a GitHub Enterprise server, `ca_bundle` a PEM file that its certificate
    is checked with. `batch` is how many pull requests are asked for at once. `longest_wait_s` bounds one wait
    for a limit, `tries` how often a broken answer is asked for again. Facts that are older than
    `refresh_hours` are looked at again: None never does, so that the same command gives the same candidates.
    Repositories that are private, though the token may read them, are refused unless `private` says so.
    """

    api: str = Field(default="https://api.github.com", pattern=r"^https?://\S+$")
    ca_bundle: Path | None = None
    batch: int = Field(default=100, ge=1, le=100)
    timeout_s: int = Field(default=60, ge=1)
    longest_wait_s: int = Field(default=3700, ge=1)
    tries: int = Field(default=10, ge=1)
    refresh_hours: float | None = Field(default=None, ge=0)
    private: Literal["refuse", "take"] = "refuse"


class GharchiveSettings(Section):
    """Dumps of GitHub's public events: hourly `.json.gz` files, as gharchive.org publishes them.

    `dumps` are paths, patterns such as `dumps/2024-*.json.gz`, or addresses that fsspec can open; one with
    `{hour}` in it stands for every hour from `first_hour` to `last_hour` (`2024-03-01-0`, in UTC). What the
    dumps lack is asked of GitHub's API where `complete` says so, else it stays unknown.
    """

    dumps: tuple[str, ...] = ()
    first_hour: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}-\d{1,2}$")
    last_hour: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}-\d{1,2}$")
    complete: Literal["never", "api"] = "never"


class SourceSettings(Section):
    """Where candidates come from.

    `mirror` is a path template with `{owner}` and `{name}` (clones and bare mirrors alike); without it, or
    where nothing lies there, `url` is a template to clone from into the cache: without blobs where
    `partial_clones` is set, and no more than `clones_gb` of clones, those that weren't used for longest going
    first. `limit` counts candidates per repository, newest first.
    """

    kind: Literal["git", "github", "gharchive", "rows"] = "git"
    repositories: tuple[str, ...] = ()
    repositories_file: Path | None = None
    rows: Path | None = None
    issues: Path | None = None
    mirror: str | None = None
    url: str = "https://github.com/{owner}/{name}"
    partial_clones: bool = False
    clones_gb: float | None = Field(default=None, gt=0)
    since: str | None = None
    until: str | None = None
    limit: int | None = Field(default=None, ge=1)
    pulls: tuple[int, ...] = ()
    branch: str | None = None
    github: GithubSettings = GithubSettings()
    gharchive: GharchiveSettings = GharchiveSettings()

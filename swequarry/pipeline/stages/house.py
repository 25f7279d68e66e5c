"""What the stages share: settings, workspace, backend and where repositories lie."""

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from swequarry.config import Settings
from swequarry.git.mirrors import MirrorLocator
from swequarry.git.repository import Repository
from swequarry.git.supplement import Supplement
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Failed, Outcome, Rejected
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Record, RepoRef, sha256_hex
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import Limits, SandboxBackend

if TYPE_CHECKING:
    from swequarry.sandbox.index_proxy import IndexSource

_MB = 1024**2


@dataclass(frozen=True)
class House:
    """The surroundings of a stage in one process; nothing of it is part of a result but by settings."""

    settings: Settings
    workspace: Workspace

    @cached_property
    def backend(self) -> SandboxBackend:
        """The sandbox backend of the settings."""
        return open_backend(self.settings.sandbox, self.workspace.worlds)

    @cached_property
    def locator(self) -> MirrorLocator:
        """Finds repositories at the mirror template, else in the cache."""
        source = self.settings.source
        return MirrorLocator(
            template=source.mirror,
            url=source.url,
            cache=self.workspace.mirrors,
            partial=source.partial_clones,
            budget_bytes=int(source.clones_gb * 1024**3) if source.clones_gb else None,
        )

    def repository(self, repo: RepoRef) -> Repository:
        """Open a repository, with whatever was found of what its mirror lacks.

        Raises:
            RepositoryError: there is none.
        """
        return self.supplement(repo).complete()

    def supplement(self, repo: RepoRef) -> Supplement:
        """Return the store that completes a repository where it lies now.

        Raises:
            RepositoryError: there is none.
        """
        repository = self.locator.locate(repo)
        place = sha256_hex(os.fsencode(repository.common.absolute()))[:12]
        folder = self.workspace.supplements / f"{repo.owner}+{repo.name}-{place}"
        return Supplement(folder, repository)

    @cached_property
    def index(self) -> "IndexSource":
        """The package index of the settings."""
        from swequarry.sandbox.index_proxy import IndexSource  # noqa: PLC0415 - only builds talk HTTP

        settings = self.settings.environment
        return IndexSource(
            cache=self.workspace.index, index_url=settings.index_url, ca_bundle=settings.ca_bundle
        )

    @property
    def test_limits(self) -> Limits:
        """The limits of one test run."""
        return self._limits(self.settings.verify.timeout_s)

    @property
    def build_limits(self) -> Limits:
        """The limits of one step of a build."""
        return self._limits(self.settings.sandbox.build_timeout_s)

    def _limits(self, wall_s: float) -> Limits:
        sandbox = self.settings.sandbox
        return Limits(
            wall_s=float(wall_s),
            memory_bytes=sandbox.memory_mb * _MB,
            processes=sandbox.processes,
            disk_bytes=sandbox.disk_mb * _MB,
        )


def stored(item: str, outcome: Outcome[Record]) -> StoredOutcome:
    """Return an outcome as the ledger keeps it: an accepted record becomes its JSON."""
    match outcome:
        case Accepted(value=record):
            return StoredOutcome(item=item, outcome=Accepted(value=record.to_json()))
        case Rejected() | Failed():
            return StoredOutcome(item=item, outcome=outcome)

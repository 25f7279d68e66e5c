"""What the stages share: settings, workspace, backend and where repositories lie."""

from dataclasses import dataclass
from functools import cached_property

from swequarry.config import Settings
from swequarry.git.mirrors import MirrorLocator
from swequarry.ledger.keys import StoredOutcome
from swequarry.outcome import Accepted, Failed, Outcome, Rejected
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Record
from swequarry.sandbox.backends import open_backend
from swequarry.sandbox.contract import Limits, SandboxBackend

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
        return MirrorLocator(template=source.mirror, url=source.url, cache=self.workspace.mirrors)

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

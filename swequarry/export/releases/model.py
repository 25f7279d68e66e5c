"""What a release is made of, before it is written."""

from dataclasses import dataclass, field

from swequarry.config import ExportSettings, ReleaseSettings
from swequarry.export.interface import FunnelLine, LeftOut
from swequarry.export.releases.budgets import MeasuredRuns, timed
from swequarry.export.releases.splits import Split
from swequarry.export.selection import published
from swequarry.records import AnswerPlace, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTask:
    """A task as the run has it, its split, places of its base that tell the answer, what its runs took."""

    task: Task
    split: Split
    places: tuple[AnswerPlace, ...] = ()
    measured: MeasuredRuns | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What goes out, under which name and version, and what was left out before a format had its say.

    `unread` counts files of base trees whose content the mirrors lack, so that nothing is known of them.
    `unknown` are the ids of entries of a deprecation list that are about none of the tasks.
    """

    name: str
    version: str
    tasks: tuple[ReleaseTask, ...]
    left_out: tuple[LeftOut, ...] = ()
    settings: ReleaseSettings = field(default_factory=ReleaseSettings)
    export: ExportSettings = field(default_factory=ExportSettings)
    unread: int = 0
    unknown: tuple[str, ...] = ()
    funnel: tuple[FunnelLine, ...] = ()

    def of(self, split: Split) -> tuple[ReleaseTask, ...]:
        """Return the tasks of a split, by instance id."""
        chosen = [one for one in self.tasks if one.split is split]
        return tuple(sorted(chosen, key=lambda one: one.task.instance_id))

    def as_it_goes_out(self, one: ReleaseTask) -> Task:
        """Return a task as the release has it: without what grading alone may know, its budget filled in."""
        return timed(published(one.task), one.measured, self.settings)

"""Stage `mine`: a repository or a file of rows in, candidates and rejections out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from miner.candidates import never
from miner.mine import MineUnit, mine_unit
from swequarry.config import GharchiveSettings, GithubSettings, meaning_of
from swequarry.ledger.keys import StoredOutcome
from swequarry.pipeline.stage import StageContext, StageItem
from swequarry.pipeline.stages.house import House, stored
from swequarry.records import ContentHash
from testwriter.writers.issue import may_reproduce


@dataclass(frozen=True, slots=True)
class MineStage:
    """Asks the Curator for the candidates of one unit."""

    house: House
    name: ClassVar[str] = "mine"
    version: ClassVar[int] = 1

    @property
    def settings_hash(self) -> ContentHash:
        """What the Curator depends on; where files and repositories lie isn't part of it."""
        source = self.house.settings.source
        source = source.model_copy(
            update={
                "mirror": None,
                "url": "",
                "partial_clones": False,
                "clones_gb": None,
                "rows": None,
                "issues": None,
                "repositories": (),
                "repositories_file": None,
                "github": GithubSettings(private=source.github.private),
                "gharchive": GharchiveSettings(complete=source.gharchive.complete),
            }
        )
        curate = self.house.settings.curate
        benchmarks = curate.decontamination.model_copy(update={"against": ()})
        return meaning_of(
            "tests may be written" if self._writes else "",
            source,
            curate.model_copy(update={"decontamination": benchmarks, "policy": None, "opt_out": None}),
        )

    @property
    def _writes(self) -> bool:
        """Whether pull requests without tests may become candidates."""
        settings = self.house.settings.testwriter
        return settings.enabled and settings.tasks_without_tests

    def run(self, item: StageItem[MineUnit], context: StageContext) -> Sequence[StoredOutcome]:
        """Return one outcome for every pull request or row of the unit."""
        house, outcomes = self.house, []
        remarks: list[str] = []
        writable = may_reproduce if self._writes else never
        for found in mine_unit(
            item.value, house.settings, house.locator, context.blobs.put, remarks.append, writable
        ):
            outcomes.append(stored(found.item, found.outcome))
            remarks += [f"{found.item}: {note}" for note in found.notes]
        for remark in remarks:
            context.log.warning("%s", remark)
        context.observe(remarks=remarks)
        return outcomes

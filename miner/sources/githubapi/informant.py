"""What GitHub tells of one repository's pull requests and issues, in the records of this project."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from miner.sources.facts import PullFacts, RepoFacts
from miner.sources.git import PullFilter
from miner.sources.githubapi.batches import Asker
from miner.sources.githubapi.listing import merged_pulls
from miner.sources.githubapi.parse import parse_issue, parse_pull
from miner.sources.githubapi.queries import Kind
from swequarry.git.history import Landed
from swequarry.records import IssueRecord, PullRecord, RepoRef


@dataclass(slots=True)
class GithubInformant:
    """Tells of the pull requests and issues of one repository (`Informant`).

    `repo` is the repository as it was asked for, `facts` has its name of today.
    """

    asker: Asker
    repo: RepoRef
    facts: RepoFacts
    landings: dict[int, PullFacts] = field(default_factory=dict)

    def pulls(self, records: Sequence[PullRecord]) -> Mapping[int, PullRecord]:
        """Return the records with their texts, authors, labels and closing references.

        A number that GitHub says is no pull request is left as git has it.
        """
        found = self.asker.nodes(Kind.PULL, [record.number for record in records])
        told: dict[int, PullRecord] = {}
        for record in records:
            if record.number in found:
                node = found[record.number]
                told[record.number] = record if node is None else self._joined(record, node)
        return told

    def _joined(self, record: PullRecord, node: Mapping[str, object]) -> PullRecord:
        facts = parse_pull(record.number, node, self.asker.repo)
        return replace(
            record,
            title=facts.title or record.title,
            body=facts.body,
            author=facts.author,
            author_is_bot=facts.is_bot,
            created_at=facts.created_at,
            merged_at=facts.merged_at or record.merged_at,
            labels=facts.labels,
            base_branch=facts.base_branch,
            default_branch=self.facts.default_branch,
            closing_references=facts.closing,
        )

    def issues(self, numbers: Sequence[int]) -> Mapping[int, IssueRecord]:
        """Return the issues with their texts, edits, comments and timeline."""
        found = self.asker.nodes(Kind.ISSUE, numbers)
        return {n: parse_issue(n, node, self.asker.repo) for n, node in found.items() if node is not None}

    # --- pull requests that git doesn't show ---------------------------------------------------------

    def ask_landed(self, chosen: PullFilter, silent: Sequence[int], complete: bool) -> Mapping[int, Landed]:  # noqa: FBT001 - `git.history.AskLanded`
        """Say where pull requests were merged that left no trace in the history.

        Where the clone knows all pull requests, the silent ones are asked for by number; else, or where only
        a span of time is wanted, GitHub lists them.
        """
        if chosen.numbers:
            wanted: Sequence[int] = (
                [n for n in silent if n in chosen.numbers] if complete else sorted(chosen.numbers)
            )
            found = self._by_number(wanted)
        elif complete and chosen.since is None and chosen.until is None:
            found = self._by_number(silent)
        else:
            listed = merged_pulls(self.asker, chosen.since, chosen.until)
            found = {int(n["number"]): parse_pull(int(n["number"]), n, self.asker.repo) for n in listed}
        self.landings |= {number: facts for number, facts in found.items() if facts.merged}
        return {
            number: Landed(commit=facts.merge_commit, commit_count=facts.commit_count)
            for number, facts in self.landings.items()
            if facts.merge_commit
        }

    def _by_number(self, numbers: Sequence[int]) -> dict[int, PullFacts]:
        found = self.asker.nodes(Kind.LANDING, numbers)
        return {n: parse_pull(n, node, self.asker.repo) for n, node in found.items() if node is not None}

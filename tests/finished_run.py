"""A workspace with a finished run over a small repository, made without any sandbox, for tests of releases."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from git_building import REPO, Files, Upstream, make_upstream
from task_factory import make_task

from swequarry.config import Settings
from swequarry.git.trees import TreeWorkbench
from swequarry.ledger.attempts import AttemptEnd, AttemptStatus
from swequarry.ledger.keys import StageKey, StoredOutcome
from swequarry.ledger.runs import Run
from swequarry.outcome import Accepted, Rejected
from swequarry.pipeline.workspace import Workspace
from swequarry.records import CommitSha, ContentHash, RepoRef, Task, sha256_hex

EARLY, LATE = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)


@dataclass
class FinishedRun:
    folder: Path
    settings: Settings
    workspace: Workspace
    upstreams: dict[RepoRef, Upstream] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, **changes: object) -> "FinishedRun":
        mirror = str(folder / "mirrors" / "{owner}+{name}")
        data = {
            "workspace": folder / "quarry",
            "cache": folder / "cache",
            "source": {"mirror": mirror},
            **changes,
        }
        settings = Settings.model_validate(data)
        return cls(folder, settings, Workspace.open(settings))

    def upstream(self, repo: RepoRef = REPO) -> Upstream:
        if repo not in self.upstreams:
            (self.folder / "mirrors").mkdir(exist_ok=True)
            self.upstreams[repo] = make_upstream(self.folder / "mirrors", f"{repo.owner}+{repo.name}")
        return self.upstreams[repo]

    def task(
        self,
        number: int,
        base: str,
        fixed: Files,
        *,
        repo: RepoRef = REPO,
        merge: str | None = None,
        merged_at: datetime = EARLY,
        tests: Files | None = None,
        **more: object,
    ) -> Task:
        """Return a verified task whose fix turns the tree of a base into `fixed`."""
        upstream = self.upstream(repo)
        tree = upstream.repository.tree_of(base)
        with TreeWorkbench(upstream.repository) as bench:
            gold = bench.diff(tree, upstream.tree(fixed))
            before = upstream.tree(tests) if tests else tree
            test = bench.diff(tree, before)
            after = bench.apply(before, gold)
        candidate = {
            "base_commit": CommitSha(base),
            "base_tree": tree,
            "before_tree": before,
            "after_tree": after,
            "merge_commit": CommitSha(merge) if merge else None,
            "merged_at": merged_at,
            "cutoff": merged_at,
        }
        if not test:
            test = b"diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-1\n+2\n"
        task = make_task(
            self.workspace.blobs, number=number, repo=repo, gold=gold, test=test, candidate=candidate, **more
        )
        return replace(
            task, provenance=replace(task.provenance, verification=task.verification.content_hash())
        )

    def measured(self, task: Task, *seconds: float) -> Task:
        """Write down the runs by which a task was verified."""
        key = StageKey(
            stage="verify",
            version=1,
            input_hash=ContentHash(sha256_hex(task.instance_id.encode())),
            settings_hash=ContentHash("0" * 64),
        )
        ledger = self.workspace.ledger
        number = ledger.begin_attempt(key, task.instance_id)
        runs = [{"state": "after", "duration_s": spent, "outcomes": {"passed": 2}} for spent in seconds]
        outcome = StoredOutcome(item=task.instance_id, outcome=Accepted(value=task.verification.to_json()))
        end = AttemptEnd(status=AttemptStatus.DONE, observed={"runs": runs, "duration_s": sum(seconds)})
        ledger.record(key, [outcome], attempt=number, end=end)
        return task

    def finish(
        self, *tasks: Task, rejected: dict[str, tuple[str, Rejected]] | None = None, open_: int = 0
    ) -> Run:
        """Store a run with these ends, and items that have none."""
        ledger = self.workspace.ledger
        number = ledger.save_run(self.settings.model_dump(mode="json"))
        rejected = rejected or {}
        items = [*(task.instance_id for task in tasks), *rejected, *(f"open-{n}" for n in range(open_))]
        ledger.save_selection(number, items)
        for task in tasks:
            done = StoredOutcome(item=task.instance_id, outcome=Accepted(value=task.to_json()))
            ledger.settle(number, "assess", done)
        for item, (stage, outcome) in rejected.items():
            ledger.settle(number, stage, StoredOutcome(item=item, outcome=outcome))
        ledger.end_run(number)
        return ledger.runs()[-1]

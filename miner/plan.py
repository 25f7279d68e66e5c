"""What mining would ask GitHub for, and what that would cost, without asking anything.

Counted from the clone and from what is remembered. Of issues nobody knows how many pull requests name before
these are read: one each is assumed. A repository that isn't cloned yet can't be counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from miner.candidates import judge_paths
from miner.mine import MineUnit, client_of, days_of
from miner.sources.git import PullFilter
from miner.sources.github import asker_of, read_repo
from miner.sources.githubapi.queries import MAX_BATCH, Kind, points
from swequarry.config import Settings
from swequarry.git.history import Landed, merged_pulls
from swequarry.git.mirrors import MirrorLocator
from swequarry.git.netchanges import net_changes
from swequarry.records import RepoRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one unit would ask. `merged` None: the repository isn't cloned, so nothing can be counted.

    `passing` are those pull requests that can become candidates by their paths, `remembered` those of them
    that GitHub was asked about before. `silent` left no trace in the history and are asked where they landed.
    """

    repo: str
    merged: int | None = None
    chosen: int = 0
    passing: int = 0
    remembered: int = 0
    silent: int = 0
    requests: int = 0
    points: int = 0


def plan_unit(unit: MineUnit, settings: Settings, locator: MirrorLocator) -> Plan:
    """Return what a unit would ask; nothing is asked and nothing is cloned.

    Raises:
        AuthenticationError: the source asks GitHub, and there is no token.
        GitError, StorageError: the clone or the memory can't be read.
    """
    if unit.repo is None:
        return Plan(repo=unit.key, merged=0)
    repository = locator.at_hand(unit.repo)
    if repository is None:
        return Plan(repo=unit.repo.full_name)
    since, until = days_of(settings.source)
    chosen = PullFilter(since=since, until=until, numbers=frozenset(settings.source.pulls))
    silent: list[int] = []

    def ask_landed(found: Sequence[int], _complete: bool) -> Mapping[int, Landed]:  # noqa: FBT001 - `AskLanded`
        silent.extend(found)
        return {}

    history = merged_pulls(repository, unit.repo, settings.source.branch, ask_landed)
    pulls = [pull for pull in history.pulls if chosen.chooses(pull.record)]
    usable = [pull for pull in pulls if pull.rejection is None and pull.base_tree is not None]
    changes = net_changes(repository, [(p.base_tree, p.merged_tree) for p in usable if p.base_tree])
    passing = [
        pull.record.number
        for pull, change in zip(usable, changes, strict=True)
        if judge_paths(change, settings.curate) is None
    ]
    passing = passing[: settings.source.limit]
    plan = Plan(repo=unit.repo.full_name, merged=len(history.pulls), chosen=len(pulls), passing=len(passing))
    if settings.source.kind != "github":
        return plan
    silent = [] if settings.source.limit else [n for n in silent if not chosen.numbers or n in chosen.numbers]
    return _priced(plan, unit.repo, settings, locator, passing, silent)


def _priced(
    plan: Plan,
    repo: RepoRef,
    settings: Settings,
    locator: MirrorLocator,
    passing: list[int],
    silent: list[int],
) -> Plan:
    client = client_of(settings, locator)
    kept = client.memory.page(f"{client.api}/repos/{repo.full_name}") is not None
    known: set[int] = set()
    landed: set[int] = set()
    if kept:
        asker = asker_of(client, read_repo(client, repo, as_kept=True), settings.source.github)
        known = set(client.memory.nodes(asker.scope, Kind.PULL, passing))
        landed = set(client.memory.nodes(asker.scope, Kind.LANDING, silent))
    batch = min(settings.source.github.batch, MAX_BATCH)
    new = len(passing) - len(known)
    counts = {Kind.PULL: new, Kind.ISSUE: new, Kind.LANDING: len(silent) - len(landed)}
    return Plan(
        repo=plan.repo,
        merged=plan.merged,
        chosen=plan.chosen,
        passing=plan.passing,
        remembered=len(known),
        silent=counts[Kind.LANDING],
        requests=(not kept) + sum(-(-count // batch) for count in counts.values()),
        points=sum(_points(kind, count, batch) for kind, count in counts.items()),
    )


def _points(kind: Kind, count: int, batch: int) -> int:
    whole, rest = divmod(count, batch)
    return whole * points(kind, batch) + (points(kind, rest) if rest else 0)

"""Requests to GitHub's API for each merged pull request, on a served repository with many of them.

    python -m benchmarks.mining --pulls 10000 --collector 200

The server is the one of the tests: GraphQL by the official schema, with GitHub's limits on what may be asked
at once. Beside it SWE-bench's own collector (`swebench.collect`: `print_pulls`, then `build_dataset`) runs
against the same server for some pull requests; it has no batches, so its requests for each don't depend on
how many there are. Nothing is verified and no patch is made here: what is counted is what the links cost.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from miner.licence import LicenceReader
from miner.policy import read_policy
from miner.sources.git import GitSource, PullFilter
from miner.sources.github import informant_of
from miner.sources.githubapi.client import GithubClient
from miner.sources.githubapi.memory import Memory
from miner.sources.issues import IssueBook
from swequarry.config import CurateSettings, GithubSettings
from swequarry.git.history import merged_pulls
from swequarry.git.repository import Repository
from swequarry.records import BlobHash, RepoRef

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
_BATCH = 200
_COLLECT = """
import sys
from pathlib import Path
from swebench.collect.utils import Repo
from swebench.collect.print_pulls import log_all_pulls
from swebench.collect.build_dataset import main
owner, name, count, folder = sys.argv[1:5]
log_all_pulls(Repo(owner, name, token="t"), folder + "/pulls.jsonl", max_pulls=int(count) - 1)
main(folder + "/pulls.jsonl", folder + "/tasks.jsonl", token="t")
"""


def _served(count: int, folder: Path) -> Any:
    sys.path.insert(0, str(FIXTURES))
    from github_server.quarry import make_quarry  # noqa: PLC0415 - of the tests

    return make_quarry(folder / "acme+widgets.git", count)


def links_of(source: GitSource) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield for each pull request that can become a candidate the issues that it is clearly linked to."""
    pulls = [pull for pull in source.history.pulls if PullFilter().chooses(pull.record)]
    for start in range(0, len(pulls), _BATCH):
        batch = pulls[start : start + _BATCH]
        told = source._told(list(zip(batch, source._changes(batch), strict=True)))  # noqa: SLF001
        for number, pull in told.items():
            found = source._links(pull.record) if pull else ()  # noqa: SLF001
            yield number, frozenset(link.number for link in found if link.ambiguous is None)


def mine(api: str, path: Path, cache: Path) -> tuple[dict[int, frozenset[int]], GithubClient, int]:
    """Return the links that were found, the client with what it spent, and how many were merged."""
    client = GithubClient(api=api, tokens=("t",), memory=Memory(cache / "memory.sqlite"))
    repo = RepoRef(owner="acme", name="widgets")
    informant = informant_of(client, repo, GithubSettings(api=api))
    repository = Repository.open(path)
    history = merged_pulls(
        repository,
        repo,
        None,
        lambda silent, complete: informant.ask_landed(PullFilter(), silent, complete=complete),
    )
    curate = CurateSettings()
    source = GitSource(
        repository=repository,
        repo=repo,
        history=history,
        curate=curate,
        issues=IssueBook(),
        put_blob=lambda _data: BlobHash("0" * 64),
        policy=read_policy(curate),
        licences=LicenceReader(repository),
        informant=informant,
        source="github",
    )
    return dict(links_of(source)), client, len(history.pulls)


def collect(api: str, count: int, folder: Path) -> int:
    """Run SWE-bench's collector over some pull requests; return how many tasks it made."""
    command = [sys.executable, "-c", _COLLECT, "acme", "widgets", str(count), str(folder)]
    env = {**os.environ, "GH_HOST": api, "GITHUB_TOKEN": "t"}
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=3000)
    return sum(1 for _ in (folder / "tasks.jsonl.all").open())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pulls", type=int, default=10_000)
    parser.add_argument("--collector", type=int, default=0, help="pull requests for SWE-bench's collector")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quarry = _served(chosen.pulls, folder)
        from github_server.server import serving  # noqa: PLC0415 - of the tests

        with serving(quarry.world, checks=False) as server:
            begun = time.monotonic()
            found, client, merged = mine(server.api, quarry.path, folder)
            wrong = {n for n, issue in quarry.links.items() if found.get(n) != frozenset((issue,))}
            told: dict[str, Any] = {
                "merged": merged,
                "candidates_asked_for": len(found),
                "links_expected": len(quarry.links),
                "links_wrong_or_missing": len(wrong),
                "requests": server.asked,
                "requests_per_merged": round(server.asked / merged, 4),
                "points": client.spent.points,
                "seconds": round(time.monotonic() - begun, 1),
            }
            again, _, _ = mine(server.api, quarry.path, folder)
            told["requests_of_a_second_run"] = server.asked - told["requests"]
            told["second_run_same"] = again == found
            print(json.dumps(told, indent=1), flush=True)
            if chosen.collector:
                server.log.clear()
                tasks = collect(server.api, chosen.collector, folder)
                asked = len(server.log)
                told = {
                    "collector_pulls": chosen.collector,
                    "collector_tasks": tasks,
                    "collector_requests": asked,
                }
                told["without_rate_limit_calls"] = server.asked
                told["collector_requests_per_pull"] = round(server.asked / chosen.collector, 2)
                print(json.dumps(told, indent=1), flush=True)
            print(json.dumps({"server_problems": server.problems[:3]}))


if __name__ == "__main__":
    main()

"""What a yield owes to repair rules that only one repository needed: each repository left out in turn.

    python -m benchmarks.leave_one_out --workspace DIR      one that benchmarks.rows or .history has finished

A rule that helped no other repository of the set might have been made for this one. So every task of a
repository whose environment rests on such a rule counts as lost for it. That is the least that the rules
made without this repository would reach: another rule, or an older interpreter, might have saved the task.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from swequarry.config import parse_settings
from swequarry.pipeline.publish import read_run
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Task


def main() -> None:
    """Print each rule with the repositories it helped, then the yield with each repository left out."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workspace", type=Path, required=True)
    given = options.parse_args()
    workspace = Workspace.open(parse_settings({"workspace": str(given.workspace)}))
    tasks = [entry.task for entry in read_run(workspace).tasks]
    helped = _helped(tasks)
    for rule, repos in sorted(helped.items()):
        print(rule, len(repos), ", ".join(sorted(repos)), sep="\t")
    print("repository\tverified\tthat rest on no rule of its own")
    total = 0
    for repo in sorted({_repo(task) for task in tasks}):
        own = {rule for rule, repos in helped.items() if repos == {repo}}
        verified = [task for task in tasks if _repo(task) == repo]
        kept = [task for task in verified if not own.intersection(_rules(task))]
        total += len(kept)
        print(repo, len(verified), len(kept), sep="\t")
    print("total", len(tasks), total, sep="\t")


def _helped(tasks: Iterable[Task]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for task in tasks:
        for rule in _rules(task):
            found[rule].add(_repo(task))
    return found


def _rules(task: Task) -> set[str]:
    """Return the rules on the way to a task's environment, whether or not another try won in the end."""
    return {rule for one in task.environment.tries if one.rule for rule in one.rule.split("+")}


def _repo(task: Task) -> str:
    return task.initial_state.repo.full_name


if __name__ == "__main__":
    main()

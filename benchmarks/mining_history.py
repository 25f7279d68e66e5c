"""History mining beside pydriller and bare git, for the same fields of one repository, in one run.

    python -m benchmarks.mining_history REPOSITORY [--pydriller PYTHON] [--commits N]

Fields: sha, parents, dates, message, changed paths with their status, numbers of pull requests and issues.
Pydriller is asked about the newest N commits only (all would take hours) and runs in a Python of its own, if
one is named; its rate counts. Times are processor time, that of git's processes included, the best of three
for git and ours. Pydriller wants a clone with a `.git` folder.
"""

import argparse
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

from miner.linking import LinkText, find_links
from swequarry.git.commitlog import read_commits
from swequarry.git.netchanges import net_changes
from swequarry.git.repository import Repository
from swequarry.git.subjects import merged_by_merge, merged_by_squash
from swequarry.records import LinkPlace, RepoRef

_ROUNDS = 3
_PEER = """
import re, resource, sys
from pydriller import Git, Repository
path, count = sys.argv[1], int(sys.argv[2])
def spent():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)
began, seen, numbers = spent(), 0, 0
for commit in Repository(path, order="reverse").traverse_commits():
    fields = (commit.hash, commit.parents, commit.author_date, commit.committer_date, commit.msg)
    paths = [(file.change_type, file.old_path, file.new_path) for file in commit.modified_files]
    numbers += len(re.findall(r"#(\\d+)", commit.msg))
    seen += 1
    if seen == count:
        break
print(seen, spent() - began)
"""


def main() -> None:
    """Measure and print one line for each figure."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("repository", type=Path)
    options.add_argument("--pydriller", help="a Python that has pydriller")
    options.add_argument("--commits", type=int, default=300, help="commits that pydriller is asked about")
    given = options.parse_args()
    repository = Repository.open(given.repository)
    count, ours = _best(lambda: _mine(repository))
    _, bare = _best(lambda: _bare(repository))
    print(f"{count:,} commits: ours {ours:.2f} s ({count / ours:,.0f}/s)")
    print(f"  `git log --raw`: {bare:.2f} s; ours is {bare / ours:.2f} x as fast")
    if given.pydriller:
        told = subprocess.run(
            [given.pydriller, "-c", _PEER, str(given.repository), str(given.commits)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        seen, taken = int(told[0]), float(told[1])
        rate = seen / taken
        print(f"  pydriller, {seen} commits: {taken:.2f} s ({rate:,.0f}/s); {count / ours / rate:.0f} x")


def _best(work: Callable[[], int]) -> tuple[int, float]:
    best, count = float("inf"), 0
    for _ in range(_ROUNDS):
        began = _spent()
        count = work()
        best = min(best, _spent() - began)
    return count, best


def _spent() -> float:
    """Return the seconds of processor time of this process and of those that it waited for."""
    own, git = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + git.ru_utime + git.ru_stime


def _bare(repository: Repository) -> int:
    argv = ["log", "--raw", "-z", "--no-renames", "--no-abbrev", "--diff-merges=first-parent", "HEAD"]
    return len(repository.git(argv))


def _mine(repository: Repository) -> int:
    """Read what the source `git` reads of every commit of the branch, and the numbers in its message."""
    commits = read_commits(repository, ["HEAD"])
    pairs = [
        (commits[commit.parents[0]].tree, commit.tree)
        for commit in commits.values()
        if commit.parents and commit.parents[0] in commits
    ]
    for _ in net_changes(repository, pairs):
        pass
    repo = RepoRef(owner="acme", name="widgets")
    for commit in commits.values():
        (merged_by_merge if len(commit.parents) > 1 else merged_by_squash)(commit.message)
        find_links([LinkText(place=LinkPlace.COMMIT_MESSAGE, text=commit.message)], repo)
    return len(commits)


if __name__ == "__main__":
    main()

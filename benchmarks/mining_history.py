"""History mining beside pydriller and bare git, for the same fields of one repository, in one run.

    python -m benchmarks.mining_history REPOSITORY [--pydriller PYTHON] [--commits N]

Fields: sha, parents, dates, message, changed paths with their status, numbers of pull requests and issues.
Pydriller is asked about the newest N commits only (all would take hours) and runs in a Python of its own, if
one is named; its rate counts. Git and ours take turns, and the best of each counts: once by the time that
passed, in which git and we use a core each, once by the processor time of all processes. Pydriller's is
processor time; it wants a clone with a `.git` folder.
"""

import argparse
import resource
import subprocess
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

from miner.linking import LinkText, find_links
from swequarry.git.commitlog import read_commits
from swequarry.git.netchanges import net_changes
from swequarry.git.repository import Repository
from swequarry.git.subjects import merged_by_merge, merged_by_squash
from swequarry.records import LinkPlace, RepoRef

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
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    repository = Repository.open(given.repository)
    count = _mine(repository)
    turns = [(_timed(_mine, repository), _timed(_bare, repository)) for _ in range(given.rounds)]
    for number, name in enumerate(("time that passes", "processor time")):
        ours, bare = (min(turn[side][number] for turn in turns) for side in (0, 1))
        print(
            f"{name}: {count:,} commits in {ours:.3f} s ({count / ours:,.0f}/s), "
            f"`git log --raw` {bare:.3f} s: {bare / ours:.2f} x as fast"
        )
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


def _timed(work: Callable[[Repository], int], repository: Repository) -> tuple[float, float]:
    """Return the seconds that pass and those of processor time."""
    began, spent = time.perf_counter(), _spent()
    work(repository)
    return time.perf_counter() - began, _spent() - spent


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
    with_parent = [c for c in commits.values() if c.parents and c.parents[0] in commits]
    changes = net_changes(repository, [(commits[c.parents[0]].tree, c.tree) for c in with_parent])
    repo = RepoRef(owner="acme", name="widgets")
    found = 0
    for commit, _ in zip_longest(commits.values(), changes):
        (merged_by_merge if len(commit.parents) > 1 else merged_by_squash)(commit.message)
        found += len(find_links([LinkText(place=LinkPlace.COMMIT_MESSAGE, text=commit.message)], repo))
    return len(commits)


if __name__ == "__main__":
    main()

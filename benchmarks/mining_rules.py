"""Pull records through linking and rules: how many a second, and how much memory, as their number grows.

    python -m benchmarks.mining_rules [--records N]

Records are made up: titles, descriptions of about a kilobyte with a template, code and lists, three commit
messages, an issue with comments for two of three, a small patch; drawn from a fixed seed and made while they
are judged. Times are processor time of one core, the making of records left out.
"""

import argparse
import hashlib
import random
import resource
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from miner.evidence import Timelines, link_pull
from miner.policy import Policy, read_policy
from miner.statements import first_moment, statement_from_issues, statement_from_messages
from swequarry.config import CurateSettings
from swequarry.outcome import Accepted
from swequarry.records import (
    BlobHash,
    Candidate,
    CommitSha,
    IssueClosing,
    IssueComment,
    IssueRecord,
    IssueRef,
    Licence,
    MergeKind,
    PullRecord,
    RepoRef,
    TextVersion,
    TreeSha,
)

_CHUNK = 1000
_START = datetime(2020, 1, 1, tzinfo=UTC)
_REPO = RepoRef(owner="acme", name="widgets")
_TEXT = """
when the parser reads a table with an empty cell it returns the wrong number of columns because value of
default option is not passed to inner reader and so every later row is shifted by one place which makes result
useless for anybody who needs names expected output shown below should have been same as before
"""
_WORDS = _TEXT.split()
_TEMPLATE = """<!-- Thank you! Link the issue, e.g. Fixes #1 -->
## What
{what}

{link}

```python
def column(table, place):
    return table.rows[place]  # fixes #4
```

> {quote}

## Checklist
- [x] tests
- [ ] changelog, see https://example.org/contributing
"""
_LINKS = (
    "Fixes #{n}",
    "closes #{n}, #{m}",
    "See #{n}.",
    "This does not fix #{n}.",
    "Resolves: acme/widgets#{n}",
    "",
)
_PATCH = b"""diff --git a/src/a.py b/src/a.py
index 0123456..789abcd 100644
--- a/src/a.py
+++ b/src/a.py
@@ -10,3 +10,4 @@ def column(table, place):
     rows = table.rows
-    return rows[place]
+    value = rows[place]
+    return value
"""
_SHA = CommitSha("a" * 40)
_TREE = TreeSha("b" * 40)


def main() -> None:
    """Measure and print one line for each figure."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--records", type=int, default=100_000)
    given = options.parse_args()
    policy = read_policy(CurateSettings(policy="strict"))
    endings: Counter[str] = Counter()
    spent, began = 0.0, time.perf_counter()
    records, number = _records(given.records), 0
    while chunk := list(islice(records, _CHUNK)):
        at = time.process_time()
        endings.update(_judged(pull, issues, policy) for pull, issues in chunk)
        spent += time.process_time() - at
        number += len(chunk)
        if number in {given.records, _CHUNK}:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{number:,} records: {spent:.1f} s of processor time, {peak:.0f} MB", flush=True)
    rate = given.records / spent
    print(f"{rate:,.0f} records/s of one core; a million on two cores: {1e6 / rate / 2 / 60:.1f} min")
    print(f"  wall time with the making of records: {time.perf_counter() - began:.0f} s; {dict(endings)}")


def _judged(pull: PullRecord, issues: dict[int, IssueRecord], policy: Policy) -> str:
    """Do what a source does with a record, but for git."""
    objection = policy.judge_pull(pull)
    timelines = Timelines()
    timelines.learn(issues)
    links = link_pull(pull, issues, timelines.closed_by(pull))
    if objection is not None:
        return objection.code
    known = [issues[link.number] for link in links if link.ambiguous is None and link.number in issues]
    begun_at = first_moment(pull.first_commit_at, pull.created_at)
    statement, flags = statement_from_issues(known, begun_at) if known else statement_from_messages(pull)
    candidate = Candidate(
        repo=pull.repo,
        instance_id=pull.repo.instance_id(pull.number),
        pull_number=pull.number,
        source="git",
        base_commit=_SHA,
        base_tree=_TREE,
        before_tree=_TREE,
        after_tree=_TREE,
        gold_patch=BlobHash(hashlib.sha256(_PATCH).hexdigest()),
        test_patch=BlobHash(hashlib.sha256(_PATCH).hexdigest()),
        gold_files=("src/a.py",),
        test_files=("tests/test_a.py",),
        cutoff=_START,
        statement=statement,
        links=links,
        licence=Licence(spdx="MIT"),
        flags=flags,
    )
    outcome = policy.judge(candidate, _PATCH, _PATCH)
    return "accepted" if isinstance(outcome, Accepted) else getattr(outcome, "code", "failed")


def _records(count: int) -> Iterator[tuple[PullRecord, dict[int, IssueRecord]]]:
    rng = random.Random(0)
    for number in range(1, count + 1):
        issue, other = 2 * number, 2 * number + 1
        body = _TEMPLATE.format(
            what=_said(rng, 60), link=rng.choice(_LINKS).format(n=issue, m=other), quote=f"fixes #{other}"
        )
        merged = _START + timedelta(minutes=number)
        bumped = rng.random() < 0.05
        pull = PullRecord(
            repo=_REPO,
            number=number,
            merge_kind=MergeKind.SQUASH,
            merge_commit=_SHA,
            base_commit=_SHA,
            title="Bump libx from 1.0 to 1.1" if bumped else _said(rng, 7),
            body=body,
            merged_at=merged,
            created_at=merged - timedelta(days=1),
            commit_messages=tuple(_said(rng, 9) for _ in range(3)),
            closing_references=(IssueRef(number=issue),) if rng.random() < 0.5 else (),
            base_branch="main",
            default_branch="main",
        )
        yield pull, {} if rng.random() < 1 / 3 else {issue: _issue(rng, issue, number, merged)}


def _issue(rng: random.Random, number: int, pull: int, merged: datetime) -> IssueRecord:
    opened = merged - timedelta(days=9)
    return IssueRecord(
        number=number,
        title=_said(rng, 7),
        body=_said(rng, 120),
        created_at=opened,
        closings=(IssueClosing(at=merged, pull=pull),),
        body_versions=(TextVersion(at=opened, text=_said(rng, 120)),),
        comments=tuple(IssueComment(text=_said(rng, 40), created_at=opened) for _ in range(3)),
    )


def _said(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


if __name__ == "__main__":
    main()

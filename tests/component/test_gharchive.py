"""Dumps of events: gaps, duplicates and broken files are said; what they lack is unknown, not absent."""

import gzip
import json
import tracemalloc
from typing import ClassVar

import pytest

from miner.sources.dumps import DumpReport, DumpStore, dump_files, gaps_between, ingest, read_events
from miner.sources.gharchive import DumpTeller, parse_dumped_pull
from swequarry.config import GharchiveSettings
from swequarry.errors import ConfigError, InputError
from swequarry.records import RepoRef

REPO = RepoRef(owner="acme", name="widgets")
WANTED = frozenset({"acme/widgets"})


def event(
    identity: str, kind: str, payload: dict, at: str = "2024-03-01T00:10:00Z", repo="acme/widgets"
) -> dict:
    return {
        "id": identity,
        "type": kind,
        "repo": {"id": 1, "name": repo},
        "payload": payload,
        "created_at": at,
    }


def pull(number: int = 4, **more) -> dict:
    return {
        "number": number,
        "title": "Mend",
        "body": "Fixes #3",
        "user": {"login": "dev[bot]", "type": "Bot"},
        "merged": True,
        "merged_at": "2024-03-01T00:09:00Z",
        "merge_commit_sha": "a" * 40,
        "base": {"ref": "main"},
        "head": {"sha": "b" * 40},
        "commits": 2,
        "created_at": "2024-02-28T00:00:00Z",
        **more,
    }


def issue(number: int = 3, **more) -> dict:
    return {
        "number": number,
        "title": "Broken",
        "body": "first",
        "created_at": "2024-02-27T00:00:00Z",
        **more,
    }


EVENTS = [
    event("1", "IssuesEvent", {"action": "opened", "issue": issue()}, at="2024-02-27T00:00:01Z"),
    event(
        "2",
        "IssueCommentEvent",
        {
            "action": "created",
            "issue": issue(),
            "comment": {"id": 9, "body": "me too", "user": {"login": "u"}},
        },
    ),
    event("3", "PullRequestEvent", {"action": "closed", "number": 4, "pull_request": pull()}),
    event("4", "PullRequestEvent", {"action": "closed", "pull_request": pull(5)}, repo="other/repo"),
    event("5", "WatchEvent", {"action": "started"}),
]


def write(folder, hour: str, events, cut: int = 0) -> str:
    data = gzip.compress(b"".join(json.dumps(one).encode() + b"\n" for one in events))
    path = folder / f"{hour}.json.gz"
    path.write_bytes(data[: len(data) - cut])
    return str(path)


def read(folder, *names: str) -> tuple[DumpReport, DumpTeller]:
    store = DumpStore(folder / "store.sqlite")
    return ingest(names, WANTED, store), DumpTeller(store=store, repo=REPO)


def test_facts_of_the_wanted_repository_are_kept(tmp_path):
    report, teller = read(tmp_path, write(tmp_path, "2024-03-01-0", EVENTS))
    assert (report.events, report.kept, report.duplicates, report.problems) == (5, 3, 0, [])
    found = teller.issues([3, 4, 77])
    assert found[3].title == "Broken"
    assert [(c.text, c.author) for c in found[3].comments] == [("me too", "u")]
    assert found[4].is_pull_request is True
    assert 77 not in found
    assert teller.unknown == 1
    teller.ask_landed(None, [], complete=True)
    assert teller.landings[4].merge_commit == "a" * 40
    assert teller.landings[4].is_bot is True


def test_events_that_come_twice_count_once_and_missing_hours_are_named(tmp_path):
    names = [write(tmp_path, hour, EVENTS) for hour in ("2024-03-01-0", "2024-03-01-3")]
    report, _ = read(tmp_path, *names)
    assert report.duplicates == 3
    assert report.gaps == ("2024-03-01-1", "2024-03-01-2")
    assert any("2 hours are missing: 2024-03-01-1, 2024-03-01-2" in one for one in report.sentences())


def test_gaps_go_over_midnight():
    assert gaps_between(["a/2024-02-28-22.json.gz", "a/2024-02-29-1.json.gz"]) == (
        "2024-02-28-23",
        "2024-02-29-0",
    )


def test_cut_file_gives_what_it_has_and_says_so(tmp_path):
    whole = [event(str(n), "IssuesEvent", {"action": "opened", "issue": issue(n)}) for n in range(1, 3000)]
    report, teller = read(tmp_path, write(tmp_path, "2024-03-01-0", whole, cut=40))
    assert report.kept > 100
    assert "cut or broken" in report.problems[0]
    assert teller.issues([1])[1].title == "Broken"


def test_broken_line_costs_no_other(tmp_path):
    path = tmp_path / "2024-03-01-0.json.gz"
    good = json.dumps(EVENTS[0]).encode()
    path.write_bytes(gzip.compress(b'{"type":"IssuesEvent", nonsense\n' + good + b"\n"))
    report, _ = read(tmp_path, str(path))
    assert report.kept == 1
    assert report.problems == [f"{path}:1: isn't JSON"]


def test_stub_of_a_pull_request_is_unknown_not_unmerged():
    stub = parse_dumped_pull(
        4, {"number": 4, "url": "https://x", "base": {"ref": "main"}, "head": {"sha": "b" * 40}}
    )
    assert (stub.merged, stub.body, stub.author, stub.labels, stub.merge_commit) == (None,) * 5
    full = parse_dumped_pull(4, pull(body=None, user=None))
    assert (full.merged, full.body, full.author) == (True, "", "ghost")


def test_what_the_dumps_lack_is_asked_for_only_where_somebody_may(tmp_path):
    from swequarry.records import CommitSha, MergeKind, PullRecord

    class Helper:
        asked: ClassVar[list] = []

        def pulls(self, records):
            self.asked += [record.number for record in records]
            return {}

        def issues(self, numbers):
            self.asked += numbers
            return {}

    _, teller = read(tmp_path, write(tmp_path, "2024-03-01-0", EVENTS))
    teller.helper = Helper()
    records = [
        PullRecord(
            repo=REPO,
            number=number,
            merge_kind=MergeKind.SQUASH,
            merge_commit=CommitSha("a" * 40),
            base_commit=CommitSha("c" * 40),
        )
        for number in (4, 8)
    ]
    assert teller.pulls(records)[4].body == "Fixes #3"
    teller.issues([3, 9])
    assert Helper.asked == [8, 9]


def test_events_before_2015_are_read(tmp_path):
    old = {
        "type": "IssuesEvent",
        "repository": {"owner": "acme", "name": "widgets"},
        "payload": {"action": "opened", "issue": 12345, "number": 3},
        "created_at": "2012-03-01T00:10:00-08:00",
    }
    pulled = {
        **old,
        "type": "PullRequestEvent",
        "payload": {"action": "closed", "number": 4, "pull_request": pull()},
    }
    report, teller = read(tmp_path, write(tmp_path, "2012-03-01-8", [old, pulled]))
    assert report.kept == 1
    teller.ask_landed(None, [], complete=True)
    assert list(teller.landings) == [4]


def test_hours_and_patterns_become_files_in_order(tmp_path):
    names = [write(tmp_path, hour, []) for hour in ("2024-03-01-10", "2024-03-01-9")]
    assert dump_files(GharchiveSettings(dumps=(f"{tmp_path}/*.json.gz",))) == (names[1], names[0])
    addresses = GharchiveSettings(
        dumps=("https://data.example.org/{hour}.json.gz",),
        first_hour="2024-02-29-23",
        last_hour="2024-03-01-0",
    )
    assert [name.rsplit("/", 1)[1] for name in dump_files(addresses)] == [
        "2024-02-29-23.json.gz",
        "2024-03-01-0.json.gz",
    ]
    with pytest.raises(InputError, match="no file fits"):
        dump_files(GharchiveSettings(dumps=("/nowhere/*.gz",)))
    with pytest.raises(ConfigError, match="first_hour"):
        dump_files(GharchiveSettings(dumps=("x/{hour}",)))
    with pytest.raises(ConfigError, match="no hour"):
        dump_files(
            GharchiveSettings(dumps=("x/{hour}",), first_hour="2024-13-01-0", last_hour="2024-13-01-1")
        )


def test_memory_doesnt_grow_with_the_dump(tmp_path):
    def peak(count: int) -> int:
        large = [
            event(str(n), "IssuesEvent", {"action": "opened", "issue": issue(n, body="x" * 2000)})
            for n in range(count)
        ]
        name = write(tmp_path, f"2024-03-01-{count % 24}", large)
        del large
        tracemalloc.start()
        for _ in read_events(name, DumpReport()):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(2400) < 2 * peak(240) + 1_000_000

"""What is remembered of GitHub, and spans of time cut so that search shows all of them."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.sources.githubapi.batches import Asker
from miner.sources.githubapi.client import RealClock, Spent, TooMuchError
from miner.sources.githubapi.listing import Span, split
from miner.sources.githubapi.memory import Memory, Page, Pause
from miner.sources.githubapi.queries import MAX_BATCH, Kind, batch_query, points
from miner.sources.githubapi.tokens import read_tokens, token_id
from swequarry.errors import AuthenticationError, StorageError
from swequarry.records import RepoRef

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_absent_is_remembered_apart_from_unasked(tmp_path):
    memory = Memory(tmp_path / "m.sqlite")
    memory.keep_nodes("s", "pull", {1: {"number": 1}, 2: None}, NOW)
    again = Memory(tmp_path / "m.sqlite")
    assert again.nodes("s", "pull", [1, 2, 3]) == {1: {"number": 1}, 2: None}
    assert again.nodes("s", "issue", [1]) == again.nodes("other", "pull", [1]) == {}
    again.forget_nodes("s", [1])
    assert again.nodes("s", "pull", [1, 2]) == {2: None}


def test_more_numbers_than_sqlite_takes_variables(tmp_path):
    memory = Memory(tmp_path / "m.sqlite")
    memory.keep_nodes("s", "pull", {n: {"number": n} for n in range(3000)}, NOW)
    assert len(memory.nodes("s", "pull", list(range(3000)))) == 3000


def test_forgotten_pages_are_those_of_one_scope(tmp_path):
    memory = Memory(tmp_path / "m.sqlite")
    for address in ("a_b one", "a_b two", "aXb one"):
        memory.keep_page(address, Page(body="{}", etag="e", link=None, asked_at=NOW))
    memory.forget_pages("a_b")
    assert memory.page("a_b one") is None
    assert memory.page("aXb one").etag == "e"


def test_pause_survives_a_restart_and_ends(tmp_path):
    Memory(tmp_path / "m.sqlite").pause(
        Pause(token="t", resource="core", until=NOW + timedelta(minutes=1), why="primary limit")
    )
    again = Memory(tmp_path / "m.sqlite")
    assert [pause.token for pause in again.pauses(NOW)] == ["t"]
    assert again.pauses(NOW + timedelta(minutes=2)) == ()


def test_file_that_is_no_memory_is_named(tmp_path):
    (tmp_path / "m.sqlite").write_bytes(b"not a database, but long enough to be looked at as one" * 20)
    with pytest.raises(StorageError, match=r"m\.sqlite"):
        Memory(tmp_path / "m.sqlite")


# --- spans ---------------------------------------------------------------------------------------------

MOMENTS = st.lists(st.integers(min_value=0, max_value=5000), max_size=80)


@settings(max_examples=40)
@given(MOMENTS, st.integers(min_value=1, max_value=10))
def test_parts_of_a_span_show_every_result_once(moments, limit):
    span = Span(NOW, NOW + timedelta(seconds=5000))
    times = [NOW + timedelta(seconds=s) for s in moments]

    def inside(part: Span) -> list[datetime]:
        return [at for at in times if part.since <= at <= part.until]

    parts = list(split(span, lambda part: len(inside(part)), limit))
    found = [at for part, _ in parts for at in inside(part)]
    assert sorted(found) == sorted(times)
    for part, fits in parts:
        assert fits == (len(inside(part)) <= limit)
        assert fits or part.since == part.until
    assert parts[0][0].since == span.since
    assert parts[-1][0].until == span.until
    assert all(b.since - a.until == timedelta(seconds=1) for (a, _), (b, _) in pairwise(parts))


# --- batches -------------------------------------------------------------------------------------------


class Remembering:
    def __init__(self):
        self.known: dict[tuple, object] = {}

    def nodes(self, scope, kind, numbers):
        return {n: self.known[scope, kind, n] for n in numbers if (scope, kind, n) in self.known}

    def keep_nodes(self, scope, kind, found, _now):
        self.known |= {(scope, kind, n): data for n, data in found.items()}


class Answering:
    """Answers batches, but never more than `most` numbers at once, and loses those of `lost`."""

    def __init__(self, memory, most, lost=frozenset()):

        self.memory, self.most, self.lost = memory, most, lost
        self.api, self.clock, self.spent = "http://x", RealClock(), Spent()
        self.asked: list[int] = []

    def graphql(self, query, _variables):

        numbers = [int(n) for n in re.findall(r"\bn(\d+): ", query)]
        if len(numbers) > self.most:
            raise TooMuchError("too much")
        self.asked += numbers
        there = {f"n{n}": None if n % 7 == 0 or n in self.lost else {"number": n} for n in numbers}
        errors = [{"type": "NOT_FOUND", "path": ["repository", f"n{n}"]} for n in numbers if n % 7 == 0]
        return {"data": {"repository": {"nameWithOwner": "a/b", **there}}, "errors": errors}


@settings(max_examples=40)
@given(
    st.lists(st.integers(min_value=1, max_value=400), max_size=120), st.integers(min_value=1, max_value=100)
)
def test_every_number_is_answered_once_whatever_fits_into_a_batch(numbers, most):
    client = Answering(Remembering(), most)
    asker = Asker(client=client, repo=RepoRef(owner="a", name="b"))
    found = asker.nodes(Kind.LANDING, numbers)
    assert found == {n: None if n % 7 == 0 else {"number": n} for n in numbers}
    assert sorted(client.asked) == sorted(set(numbers))
    assert asker.nodes(Kind.LANDING, numbers) == found
    assert len(client.asked) == len(set(numbers))


def test_number_without_an_answer_is_left_out_and_costs_no_other():
    client = Answering(Remembering(), 100, lost=frozenset({3}))
    found = Asker(client=client, repo=RepoRef(owner="a", name="b")).nodes(Kind.LANDING, [1, 2, 3, 4])
    assert sorted(found) == [1, 2, 4]
    assert client.asked.count(3) > 1


def test_a_full_batch_costs_a_few_points():
    assert len(batch_query(Kind.PULL, range(1, MAX_BATCH + 1)).split("pullRequest(")) == MAX_BATCH + 1
    assert [points(kind, MAX_BATCH) for kind in (Kind.LANDING, Kind.PULL, Kind.ISSUE)] == [1, 3, 4]
    assert points(Kind.LANDING, 1) == 1


# --- tokens --------------------------------------------------------------------------------------------


def test_tokens_come_from_everywhere_each_once(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("c # mine\n\nd\n")
    environment = {
        "GITHUB_TOKENS": "a, b",
        "GITHUB_TOKENS_FILE": str(file),
        "GITHUB_TOKEN": "a",
        "GH_TOKEN": "e",
    }
    assert read_tokens(environment) == ("a", "b", "c", "d", "e")


@pytest.mark.parametrize("environment", [{}, {"GITHUB_TOKEN": " "}, {"GITHUB_TOKENS_FILE": "/nowhere/x"}])
def test_no_token_is_an_authentication_error(environment):
    with pytest.raises(AuthenticationError) as caught:
        read_tokens(environment)
    assert caught.value.exit_code == 4


def test_stored_name_of_a_token_isnt_the_token():
    assert "secret" not in token_id("secret")
    assert token_id("secret") != token_id("secret2")

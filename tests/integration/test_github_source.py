"""The source `github` from a served world to candidates, over real HTTP, with the requests counted."""

import pytest
from github_helpers import Blobs, QuickClock, needs_schema, served
from github_server.faults import QUICK, Fault, Schedule
from github_server.model import Comment, Edit, Event, Issue, Pull
from github_server.quarry import NAME, make_quarry

from miner.mine import mine_unit, mine_units, unit_fingerprint
from miner.sources import github
from swequarry.config import Settings, SourceSettings
from swequarry.errors import AuthenticationError
from swequarry.git.mirrors import MirrorLocator
from swequarry.outcome import Accepted, RejectCode, Rejected

COUNT = 40


@pytest.fixture
def quarry(tmp_path):
    needs_schema()
    return make_quarry(tmp_path / "acme+widgets.git", COUNT)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "t1")
    opened = github.open_client
    clock = QuickClock()
    monkeypatch.setattr("miner.mine.open_client", lambda settings, cache: opened(settings, cache, clock))
    for name in ("GITHUB_TOKENS", "GITHUB_TOKENS_FILE", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


class Mine:
    """One folder to mine in."""

    def __init__(self, server, folder, cache="cache", github=None, **source):
        self.remarks: list[str] = []
        api = {"api": server.api, "tries": 20, **(github or {})}
        self.settings = Settings(
            source=SourceSettings(kind="github", repositories=(NAME,), github=api, **source)
        )
        self.locator = MirrorLocator(
            template=str(folder / "{owner}+{name}.git"), url="", cache=folder / cache / "mirrors"
        )
        self.blobs = Blobs()

    @property
    def unit(self):
        return mine_units(self.settings)[0]

    def fingerprint(self):
        return unit_fingerprint(self.unit, self.settings, self.locator)

    def items(self):
        found = list(mine_unit(self.unit, self.settings, self.locator, self.blobs.put, self.remarks.append))
        assert len({item.item for item in found}) == len(found)
        return found

    def outcomes(self):
        return {item.item: item.outcome for item in self.items()}


def number_of(item: str) -> int:
    return int(item.rsplit("-", 1)[1])


def test_every_link_is_found_for_a_handful_of_requests(quarry, tmp_path):
    with served(quarry.world) as server:
        found = Mine(server, tmp_path).outcomes()
        accepted = {number_of(name): o.value for name, o in found.items() if isinstance(o, Accepted)}
        assert set(accepted) == set(quarry.links)
        assert {n: c.statement.issue_numbers for n, c in accepted.items()} == {
            n: (issue,) for n, issue in quarry.links.items()
        }
        docs = {number_of(n): o.code for n, o in found.items() if isinstance(o, Rejected)}
        assert set(docs.values()) == {RejectCode.NO_SOURCE_CHANGE}
        assert len(found) == COUNT
        assert server.asked <= 4  # the repository, where silent ones landed, pull requests, issues
        one = accepted[6]
        assert one.source == "github"
        assert one.statement.text.startswith("Part 3 is broken\n")


def test_what_is_remembered_is_never_asked_again(quarry, tmp_path):
    with served(quarry.world) as server:
        mine = Mine(server, tmp_path)
        first, mark = mine.items(), mine.fingerprint()
        asked = [(one.path, one.body) for one in server.log]
        assert len(set(asked)) == len(asked)
        again = Mine(server, tmp_path)
        assert again.items() == first
        assert again.fingerprint() == mark
        assert len(server.log) == len(asked)


def test_renamed_repository_is_mined_under_the_name_that_was_asked_for(quarry, tmp_path):
    quarry.repo.full_name, quarry.repo.former = "acme/gadgets", [NAME]
    for issue in quarry.repo.issues.values():
        issue.events = [Event(kind="closed", at=e.at, pull=("acme/gadgets", e.pull[1])) for e in issue.events]
    with served(quarry.world) as server:
        mine = Mine(server, tmp_path)
        found = mine.outcomes()
        assert sum(isinstance(o, Accepted) for o in found.values()) == len(quarry.links)
        assert f"{NAME} is named acme/gadgets today" in mine.remarks


@pytest.mark.parametrize("status", [404, 410, 451])
def test_gone_repository_is_one_rejection(quarry, tmp_path, status):
    quarry.repo.gone = status
    with served(quarry.world) as server:
        mine = Mine(server, tmp_path)
        (item,) = mine.items()
        assert item.outcome.code is RejectCode.REPOSITORY_GONE
        assert item.outcome.evidence == (f"status={status}",)
        assert mine.fingerprint() == mine.fingerprint()


def test_private_repository_is_refused_unless_it_is_said(quarry, tmp_path):
    quarry.repo.private = True
    with served(quarry.world) as server:
        (item,) = Mine(server, tmp_path).items()
        assert item.outcome.code is RejectCode.REPOSITORY_GONE


def test_missing_token_ends_before_anything_is_asked(quarry, tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN")
    with served(quarry.world) as server:
        with pytest.raises(AuthenticationError, match="GITHUB_TOKEN"):
            _ = Mine(server, tmp_path).unit
        assert server.log == []


def test_pull_request_of_another_branch_and_a_deleted_account_are_no_trouble(quarry, tmp_path):
    """B006, B053: not on the branch is said, null authors and bodies are read."""
    quarry.repo.add(
        Pull(number=900, author=None, body=None, base_ref="develop", merge_oid="d" * 40, closing=[]),
        Pull(number=902, merged_at=None),
    )
    pull = quarry.repo.pulls[6]
    pull.author, pull.body, pull.title = None, None, ""
    pull.closing = [5]
    with served(quarry.world) as server:
        found = Mine(server, tmp_path, since="2019-01-01").outcomes()
        other = found["acme__widgets-900"]
        assert isinstance(other, Rejected)
        assert other.code is RejectCode.NOT_ON_BRANCH
        assert "develop" in other.message
        assert "acme__widgets-902" not in found
        assert isinstance(found["acme__widgets-6"], Accepted)


def test_issue_that_is_a_pull_request_makes_no_statement(quarry, tmp_path):
    """B007: GitHub's issues are pull requests too."""
    quarry.repo.pulls[6].closing = []
    quarry.repo.pulls[6].body = "Closes #4"
    with served(quarry.world) as server:
        found = Mine(server, tmp_path).outcomes()["acme__widgets-6"]
        issues = found.value.statement.issue_numbers if isinstance(found, Accepted) else ()
        assert 4 not in issues


def test_long_lists_are_read_to_their_end(quarry, tmp_path, monkeypatch):
    issue = quarry.repo.issues[5]
    issue.comments = [Comment(body=f"c{n}", at="2020-01-01T01:00:00Z") for n in range(237)]
    issue.edits = [Edit(at=f"2020-01-01T00:00:{n:02d}Z", text=f"v{n}") for n in range(25)]
    issue.events = [
        Event(kind="closed", at="2020-01-02T00:00:00Z"),
        Event(kind="reopened", at="2020-01-03T00:00:00Z"),
    ] * 15
    seen = {}
    read = github.GithubInformant.issues

    def spy(self, numbers):
        found = read(self, numbers)
        seen.update(found)
        return found

    monkeypatch.setattr(github.GithubInformant, "issues", spy)
    with served(quarry.world) as server:
        Mine(server, tmp_path).items()
    assert [c.text for c in seen[5].comments] == [f"c{n}" for n in range(237)]
    assert [v.text for v in seen[5].body_versions] == [f"v{n}" for n in range(25)]
    assert len(seen[5].closings) == len(seen[5].reopened_at) == 15


def test_too_large_a_question_is_asked_in_parts(quarry, tmp_path):
    with served(quarry.world) as server:
        whole = Mine(server, tmp_path).items()
    with served(quarry.world, heavy_nodes=400) as server:
        assert Mine(server, tmp_path, "other").items() == whole
        assert any(one.fault is None and one.status == 502 for one in server.log)


def test_changes_are_seen_only_when_a_refresh_is_due(quarry, tmp_path):
    with served(quarry.world) as server:
        mine = Mine(server, tmp_path)
        mark = mine.fingerprint()
        mine.items()
        issue: Issue = quarry.repo.issues[5]
        issue.title, issue.updated_at = "Another title", "2099-01-01T00:00:00Z"
        assert mine.fingerprint() == mark
        due = Mine(server, tmp_path, github={"refresh_hours": 0})
        assert due.fingerprint() != mark
        assert due.outcomes()["acme__widgets-6"].value.statement.text.startswith("Another title")


def test_faults_on_one_in_five_answers_change_nothing(quarry, tmp_path):
    with served(quarry.world) as server:
        whole = Mine(server, tmp_path).items()
    for seed, kinds in ((1, QUICK), (2, (Fault.TRUNCATED, Fault.CUT_OFF, Fault.ABUSE_PAGE, Fault.HTML_OK))):
        with served(quarry.world, schedule=Schedule(share=0.2, kinds=kinds, seed=seed)) as server:
            mine = Mine(server, tmp_path, f"faulty{seed}", github={"batch": 4})
            assert mine.items() == whole
            assert sum(one.fault is not None for one in server.log) >= 3
            answered = [(one.path, one.body) for one in server.log if one.fault is None and one.status == 200]
            assert len(set(answered)) == len(answered), "an answered request was asked again"

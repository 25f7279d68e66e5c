"""The client over real HTTP: several tokens, waits that survive, conditional requests; PyGithub's own view."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from github import Auth, Github
from github_helpers import make_client, served
from github_server.faults import Fault, Schedule
from github_server.model import Comment, Commit, Issue, Pull, Repo, World

from miner.sources.github import open_client
from swequarry.config import GithubSettings
from swequarry.errors import (
    AuthenticationError,
    ConfigError,
    SourceError,
    SourceGoneError,
    SourceRefusedError,
)

PATH = "/repos/acme/widgets"


@pytest.fixture
def world():
    repo = Repo(full_name="acme/widgets", former=["acme/old"])
    repo.add(*[Pull(number=n, commits=[Commit(sha="a" * 40, message="m")]) for n in range(1, 140)])
    repo.add(Issue(number=500, comments=[Comment(body="c", at="2020-01-01T00:00:00Z")]))
    return World([repo])


def test_pygithub_reads_the_server_as_it_reads_github(world):
    """Every body is held against GitHub's official description on its way out."""
    with served(world) as server:
        api = Github(base_url=server.api, auth=Auth.Token("t"), retry=None, timeout=60)
        repo = api.get_repo("acme/widgets")
        assert (repo.full_name, repo.default_branch, repo.license.spdx_id) == ("acme/widgets", "main", "MIT")
        assert len({pull.number for pull in repo.get_pulls(state="closed")}) == 139
        assert repo.get_pull(3).merged_at is not None
        assert [commit.sha for commit in repo.get_pull(3).get_commits()] == ["a" * 40]
        assert [comment.body for comment in repo.get_issue(500).get_comments()] == ["c"]


def test_unchanged_answer_is_free_and_comes_from_the_memory(world, tmp_path):
    with served(world) as server:
        first, _ = make_client(server, tmp_path).get(PATH)
        again = make_client(server, tmp_path)
        assert again.get(PATH)[0] == first
        assert (again.spent.core, again.spent.unchanged) == (0, 1)
        assert [one.status for one in server.log] == [200, 304]
        world.repos[0].stars += 1
        assert again.get(PATH)[0]["stargazers_count"] == first["stargazers_count"] + 1
        assert again.get("/repos/acme/old")[0]["full_name"] == "acme/widgets"


def test_second_token_asks_while_the_first_rests_and_a_restart_remembers(world, tmp_path):
    schedule = Schedule()
    schedule.queue.append(Fault.SECONDARY_BARE)
    with served(world, schedule=schedule) as server:
        client = make_client(server, tmp_path, tokens=("t1", "t2"))
        client.get(PATH)
        assert [one.token for one in server.log] == ["t1", "t2"]
        assert client.clock.slept == []
        make_client(server, tmp_path, tokens=("t1", "t2")).get(PATH)
        assert server.log[-1].token == "t2"
        alone = make_client(server, tmp_path, tokens=("t1",))
        alone.get(PATH)
        assert 0 < sum(alone.clock.slept) <= 61


def test_bare_secondary_limits_are_waited_for_longer_each_time(world, tmp_path):
    schedule = Schedule()
    schedule.queue.extend([Fault.SECONDARY_BARE] * 3)
    with served(world, schedule=schedule) as server:
        client = make_client(server, tmp_path)
        client.get(PATH)
        assert [round(slept / 60) for slept in client.clock.slept] == [1, 2, 4]


def test_token_rests_when_its_limit_is_used_up_and_is_not_refused(world, tmp_path):
    with served(world, limit=2, window_s=2.0) as server:
        client = make_client(server, tmp_path)
        for number in range(1, 4):
            client.get(f"{PATH}/pulls/{number}")
        assert 403 not in {one.status for one in server.log} or client.clock.slept
        assert client.clock.slept


@pytest.mark.parametrize(
    "fault", [Fault.TRUNCATED, Fault.CUT_OFF, Fault.HANG_UP, Fault.EMPTY, Fault.HTML_OK, Fault.SERVER_ERROR]
)
def test_broken_answer_is_asked_again(world, tmp_path, fault):
    schedule = Schedule()
    schedule.queue.extend([fault, fault])
    with served(world, schedule=schedule) as server:
        client = make_client(server, tmp_path)
        assert client.get(PATH)[0]["full_name"] == "acme/widgets"
        assert client.clock.slept == [1.0, 2.0]
        assert len(server.log) == 3


def test_silence_ends_at_the_time_out(world, tmp_path):
    schedule = Schedule()
    schedule.queue.append(Fault.SILENCE)
    with served(world, schedule=schedule, silence_s=8.0, checks=False) as server:
        client = make_client(server, tmp_path, timeout_s=4)
        assert client.get(PATH)[0]["full_name"] == "acme/widgets"


def test_refusals_are_final_and_each_its_own_error(world, tmp_path):
    schedule = Schedule()
    with served(world, schedule=schedule) as server:
        client = make_client(server, tmp_path)
        schedule.queue.append(Fault.FORBIDDEN)
        with pytest.raises(SourceRefusedError, match="personal access token"):
            client.get(PATH)
        with pytest.raises(SourceGoneError) as caught:
            client.get("/repos/acme/nothing")
        assert caught.value.status == 404
        assert client.clock.slept == []


def test_endless_trouble_ends_with_a_retryable_error(world, tmp_path):
    with served(world, schedule=Schedule(share=1.0, kinds=(Fault.UNAVAILABLE,))) as server:
        with pytest.raises(SourceError, match="3 tries"):
            make_client(server, tmp_path, tries=3).get(PATH)
        assert len(server.log) == 3


def test_refused_tokens_are_put_aside_and_none_left_is_an_authentication_error(world, tmp_path):
    with served(world, tokens=frozenset({"good"})) as server:
        client = make_client(server, tmp_path, tokens=("bad", "good"))
        client.check_tokens()
        client.get(PATH)
        bad = make_client(server, tmp_path / "b", tokens=("bad",))
        with pytest.raises(AuthenticationError, match="renew") as caught:
            bad.check_tokens()
        assert caught.value.exit_code == 4
        with pytest.raises(AuthenticationError):
            bad.get(PATH)


def test_server_that_is_down_is_no_refusal(tmp_path, world):
    with served(world) as server:
        pass
    make_client(server, tmp_path).check_tokens()


def signed_by_itself(file):
    """Write a key and a certificate for this machine's address, which no known authority signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "github.example.com")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(written + certificate.public_bytes(serialization.Encoding.PEM))
    return file


def test_enterprise_server_is_known_by_the_bundle_and_by_nothing_else(world, tmp_path, monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    ours, other = signed_by_itself(tmp_path / "ours.pem"), signed_by_itself(tmp_path / "other.pem")
    with served(world, certificate=ours) as server:
        assert server.api.startswith("https://")
        assert make_client(server, tmp_path, ca_bundle=ours).get(PATH)[0]["full_name"] == "acme/widgets"
        asked = len(server.log)
        for bundle in (other, None):
            client = make_client(server, tmp_path / str(bundle is None), ca_bundle=bundle)
            with pytest.raises(SourceError, match="ca_bundle"):
                client.get("/repos/acme/old")
            assert client.clock.slept == [], "a certificate doesn't become good by waiting"
        assert len(server.log) == asked, "the token went to a server that nobody vouches for"


def test_absent_bundle_is_named_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "t1")
    settings = GithubSettings(ca_bundle=tmp_path / "absent.pem")
    with pytest.raises(ConfigError, match=r"absent\.pem"):
        open_client(settings, tmp_path)

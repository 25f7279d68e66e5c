"""The index proxy against an index on loopback: what it hides, what it refuses, what it admits to."""

import contextlib
import hashlib
import http.client
import io
import json
import os
import socket
import stat
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_index import JSON, LocalIndex, make_wheel, serve

from swequarry.errors import ConfigError, IndexUnavailableError
from swequarry.sandbox import index_pages
from swequarry.sandbox.index_cache import DamagedFileError, IndexCache
from swequarry.sandbox.index_metadata import RangeReader, metadata_in
from swequarry.sandbox.index_pages import (
    IndexFile,
    IndexView,
    normalise,
    parse_page,
    parse_time,
    render_html,
    render_json,
    select,
)
from swequarry.sandbox.index_proxy import IndexProxy, IndexSource
from swequarry.sandbox.index_upstream import Upstream, default_ca_bundle, default_index_url

CUTOFF = datetime(2022, 1, 1, tzinfo=UTC)


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with serve(LocalIndex()) as served:
        yield served


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("proxy", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(os.fspath(self._path))


class Client:
    def __init__(self, proxy: IndexProxy) -> None:
        self.proxy = proxy

    def ask(self, path: str, *, method: str = "GET", accept: str = JSON) -> tuple[int, bytes]:
        connection = UnixConnection(self.proxy.socket)
        try:
            connection.request(method, path, headers={"Accept": accept})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def files(self, name: str) -> dict[str, str]:
        status, body = self.ask(f"/simple/{name}/")
        assert status == 200, (status, body)
        return {f["filename"]: f["url"].removeprefix("../..") for f in json.loads(body)["files"]}


@contextmanager
def proxied(index: LocalIndex, folder: Path, **view) -> Iterator[Client]:
    source = IndexSource(cache=folder / "cache", index_url=index.url, retries=0)
    with source.open(IndexView(**{"cutoff": CUTOFF, **view})) as proxy:
        yield Client(proxy)


# --- dates ----------------------------------------------------------------------------------------------


def test_release_after_the_cutoff_does_not_exist(index, tmp_path):
    index.wheel("toolbox", "1.4", "2021-05-01T00:00:00Z")
    index.wheel("toolbox", "2.0", "2022-01-01T00:00:00Z")
    with proxied(index, tmp_path) as client:
        files = client.files("toolbox")
        _, page = client.ask("/simple/toolbox/", accept="text/html")
    assert list(files) == ["toolbox-1.4-py3-none-any.whl"]
    assert b"1.4" in page
    assert b"2.0" not in page


def test_file_of_a_later_release_cannot_be_fetched_by_its_address(index, tmp_path):
    digest = index.wheel("toolbox", "2.0", "2023-01-01T00:00:00Z")
    index.wheel("toolbox", "1.0", "2020-01-01T00:00:00Z")
    with proxied(index, tmp_path) as client:
        client.files("toolbox")
        status, _ = client.ask(f"/files/{digest}/toolbox-2.0-py3-none-any.whl")
    assert status == 404


def test_exempt_distribution_gets_its_later_cutoff_and_no_other_does(index, tmp_path):
    for name in ("late", "other"):
        index.wheel(name, "1.0", "2022-07-08T00:00:00Z")
        index.wheel(name, "2.0", "2023-07-08T00:00:00Z")
    with proxied(index, tmp_path, exempt={"late": datetime(2022, 8, 1, tzinfo=UTC)}) as client:
        assert list(client.files("late")) == ["late-1.0-py3-none-any.whl"]
        assert client.files("other") == {}


def test_reuploaded_distribution_is_noted_with_its_earliest_upload(index, tmp_path):
    index.wheel("again", "1.0", "2022-07-09T00:00:00Z")
    index.wheel("again", "0.9", "2022-07-08T00:00:00Z")
    with proxied(index, tmp_path) as client:
        client.files("again")
        notes = client.proxy.notes
    assert [(n.kind, n.name, n.detail) for n in notes] == [
        ("all-newer", "again", "2022-07-08T00:00:00+00:00")
    ]


def test_undated_release_is_hidden_and_named_not_silently_taken(index, tmp_path):  # B030
    index.wheel("alpha", "1.0", "2021-01-01T00:00:00Z")
    index.wheel("beta", "9.0", None)
    with proxied(index, tmp_path) as client:
        assert len(client.files("alpha")) == 1
        assert client.files("beta") == {}
        notes = client.proxy.notes
    assert [(n.kind, n.name) for n in notes] == [("undated", "beta")]


def test_undated_release_is_dated_by_its_last_change_and_noted(index, tmp_path):  # B030
    for version, changed in (
        ("1.0", "Fri, 01 Jan 2021 00:00:00 GMT"),
        ("2.0", "Sun, 01 Jan 2023 00:00:00 GMT"),
    ):
        data = make_wheel("beta", version)
        index.add(f"beta-{version}-py3-none-any.whl", data, None, last_modified=changed)
    with proxied(index, tmp_path) as client:
        assert list(client.files("beta")) == ["beta-1.0-py3-none-any.whl"]
        assert [(n.kind, n.name) for n in client.proxy.notes] == [("last-modified", "beta")]


def test_undated_release_of_an_exempt_distribution_is_shown(index, tmp_path):  # B030
    index.wheel("beta", "9.0", None)
    with proxied(index, tmp_path, exempt={"beta": CUTOFF}) as client:
        assert len(client.files("beta")) == 1


def test_index_without_dates_at_all_is_not_read_as_everything_is_old(index, tmp_path):
    index.html_only = True
    index.wheel("toolbox", "1.0")
    with proxied(index, tmp_path) as client:
        assert client.files("toolbox") == {}
        assert client.proxy.notes[0].kind == "undated"


# --- denial ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["demo-pkg", "Demo_Pkg", "DEMO.PKG", "demo--pkg", "demo-pkg/"])
def test_own_distribution_is_denied_in_every_spelling(index, tmp_path, spelling):  # B026
    index.wheel("demo-pkg", "1.1")
    with proxied(index, tmp_path, denied=frozenset({"demo-pkg"})) as client:
        status, _ = client.ask(f"/simple/{spelling.rstrip('/')}/")
        assert status == 404
        assert [(n.kind, n.name) for n in client.proxy.notes] == [("denied", "demo-pkg")]
    assert index.asked("demo") == 0


def test_own_distribution_is_not_served_from_the_cache_of_another_build(index, tmp_path):  # B026
    digest = index.wheel("demo", "1.1")
    with proxied(index, tmp_path) as client:
        address = client.files("demo")["demo-1.1-py3-none-any.whl"]
        assert client.ask(address)[0] == 200
    with proxied(index, tmp_path, denied=frozenset({"demo"})) as client:
        assert client.ask(address)[0] == 404
        assert client.ask(f"/files/{digest}/demo-1.1-py3-none-any.whl.metadata")[0] == 404


def test_distribution_that_is_denied_in_the_middle_of_a_build_is_gone_at_once(index, tmp_path):  # B026
    index.wheel("demo", "1.1")
    index.wheel("toolbox", "1.1")
    with proxied(index, tmp_path) as client:
        address = client.files("demo")["demo-1.1-py3-none-any.whl"]
        before = client.files("toolbox")
        client.proxy.deny("demo")
        assert client.ask("/simple/demo/")[0] == 404
        assert client.ask(address)[0] == 404
        assert client.files("toolbox") == before


def test_page_is_read_once_for_all_steps_of_a_build(index, tmp_path, monkeypatch):
    read: list[str] = []
    true_parse = index_pages.parse_page

    def parse(body, kind, url):
        read.append(url)
        return true_parse(body, kind, url)

    monkeypatch.setattr(index_pages, "parse_page", parse)
    index.wheel("toolbox", "1.0")
    with proxied(index, tmp_path) as client:
        assert client.files("toolbox") == client.files("toolbox")
        assert b"1.0" in client.ask("/simple/toolbox/", accept="text/html")[1]
        assert b"1.0" in client.ask("/simple/toolbox/", accept="text/html")[1]
    assert len(read) == 2  # once as JSON, once as HTML


# --- no open proxy --------------------------------------------------------------------------------------


def raw(client: Client, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(20)
        connection.connect(os.fspath(client.proxy.socket))
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
        return answer


@pytest.mark.parametrize("method", ["CONNECT", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_only_get_and_head_are_answered(index, tmp_path, method):
    index.wheel("toolbox", "1.0")
    with proxied(index, tmp_path) as client:
        answer = raw(client, f"{method} /simple/toolbox/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert answer.split()[1] in {b"405", b"501"}
    assert index.requests == []


def test_connect_to_another_host_is_refused(index, tmp_path):
    with proxied(index, tmp_path) as client:
        answer = raw(client, b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n")
    assert answer.split()[1] == b"405"


def test_address_of_another_host_is_not_fetched(index, tmp_path):
    with proxied(index, tmp_path) as client:
        answer = raw(client, b"GET http://example.org/simple/x/ HTTP/1.1\r\nHost: example.org\r\n\r\n")
    assert answer.split()[1] == b"404"
    assert index.requests == []


@pytest.mark.parametrize(
    "path",
    [
        "/", "/simple/", "/simple", "//simple/toolbox/", "/simple/../files/x/y", "/simple/%2e%2e/",
        "/simple/a%2Fb/", "/simple/a/b/", "/files/../../etc/passwd", "/files/%2e%2e/%2e%2e",
        "/files//etc/passwd", "/files/0/..%2f..%2fetc%2fpasswd", "/simple/a%00b/", "/simple/%ff/",
        "/simple/-x/", "/packages/toolbox-1.0-py3-none-any.whl", "*", "/simple/toolbox/?x=/../..",
    ],
)  # fmt: skip
def test_odd_paths_lead_nowhere(index, tmp_path, path):
    with proxied(index, tmp_path) as client:
        answer = raw(client, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert answer.split()[1] == b"404"
    assert index.asked("passwd") == 0
    assert not index.asked("..")


def test_request_with_a_body_is_refused(index, tmp_path):
    index.wheel("toolbox", "1.0")
    with proxied(index, tmp_path) as client:
        answer = raw(client, b"GET /simple/toolbox/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")
    assert answer.split()[1] == b"400"


def test_garbage_does_not_stop_the_proxy(index, tmp_path):
    index.wheel("toolbox", "1.0")
    with proxied(index, tmp_path) as client:
        for request in (
            b"\x00\xff\xfe",
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"A" * 70000 + b"\r\n\r\n",
            b"",
        ):
            raw(client, request)
        assert len(client.files("toolbox")) == 1


def test_socket_can_be_reached_by_another_uid_and_its_folder_not_listed(index, tmp_path):
    with proxied(index, tmp_path) as client:
        assert stat.S_IMODE(client.proxy.socket.stat().st_mode) == 0o666
        assert stat.S_IMODE(client.proxy.socket.parent.stat().st_mode) == 0o711
        folder = client.proxy.socket.parent
    assert not folder.exists()


def test_long_temporary_folder_does_not_break_the_socket(index, tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    index.wheel("toolbox", "1.0")
    with proxied(index, tmp_path) as client:
        assert len(client.files("toolbox")) == 1


# --- files, hashes, cache -------------------------------------------------------------------------------


def test_file_comes_whole_and_only_once_from_the_index(index, tmp_path):
    index.wheel("toolbox", "1.0", padding=3_000_000)
    for _ in range(2):
        with proxied(index, tmp_path) as client:
            address = client.files("toolbox")["toolbox-1.0-py3-none-any.whl"]
            status, body = client.ask(address)
            assert status == 200
            assert hashlib.sha256(body).hexdigest() in address
            assert client.ask(address, method="HEAD") == (200, b"")
    assert index.asked("/packages/") == 1
    assert index.asked("/simple/") == 1


def test_file_with_another_hash_is_trouble_not_content(index, tmp_path):
    index.wheel("toolbox", "1.0")
    index.projects["toolbox"][0].served = b"something else"
    with proxied(index, tmp_path) as client:
        status, _ = client.ask(client.files("toolbox")["toolbox-1.0-py3-none-any.whl"])
        assert status == 502
        assert client.proxy.trouble
    assert not [p for p in (tmp_path / "cache" / "files").rglob("*") if p.is_file()]


def test_damaged_cache_entry_is_fetched_again(index, tmp_path):
    digest = index.wheel("toolbox", "1.0")
    path = tmp_path / "cache" / "files" / digest[:2] / digest
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half of it")
    with proxied(index, tmp_path) as client:
        status, body = client.ask(client.files("toolbox")["toolbox-1.0-py3-none-any.whl"])
    assert status == 200
    assert hashlib.sha256(body).hexdigest() == digest


def test_file_without_a_hash_is_passed_on_and_not_kept(index, tmp_path):
    data = make_wheel("loose", "1.0")
    index.add("loose-1.0-py3-none-any.whl", data, hashed=False)
    with proxied(index, tmp_path) as client:
        assert client.ask(client.files("loose")["loose-1.0-py3-none-any.whl"]) == (200, data)
    assert not [p for p in (tmp_path / "cache").rglob("files/**/*") if p.is_file()]


def test_odd_file_name_survives_the_round_trip(index, tmp_path):
    data = make_wheel("odd", "1.0")
    index.add("odd-1.0+local%20x!-py3-none-any.whl".replace("%20", "_"), data)
    with proxied(index, tmp_path) as client:
        (address,) = client.files("odd").values()
        assert client.ask(address)[1] == data


def test_threads_that_want_the_same_file_fetch_it_once(index, tmp_path):
    index.wheel("toolbox", "1.0", padding=2_000_000)
    with proxied(index, tmp_path) as client:
        address = client.files("toolbox")["toolbox-1.0-py3-none-any.whl"]
        threads = [threading.Thread(target=client.ask, args=(address,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert index.asked("/packages/") == 1


def test_cache_refuses_wrong_bytes_and_leaves_nothing(tmp_path):
    cache = IndexCache(tmp_path)
    with pytest.raises(DamagedFileError):
        cache.add_file("0" * 64, [b"x"])
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_cache_forgets_pages_that_are_old_or_from_the_future(tmp_path):
    cache = IndexCache(tmp_path)
    cache.add_page("u", "text/html", b"body", now=1000.0)
    assert cache.page("u", now=1500.0, max_age_s=600) == ("text/html", b"body")
    assert cache.page("u", now=1601.0, max_age_s=600) is None
    assert cache.page("u", now=900.0, max_age_s=600) is None


# --- metadata -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("metadata", "ranges"), [(True, True), (False, True), (False, False)])
def test_metadata_is_served_whatever_the_index_can_do(index, tmp_path, metadata, ranges):
    index.metadata, index.ranges = metadata, ranges
    index.wheel("big", "1.0", requires=["toolbox>=1"], padding=2_000_000)
    for _ in range(2):
        with proxied(index, tmp_path) as client:
            address = client.files("big")["big-1.0-py3-none-any.whl"]
            status, body = client.ask(address + ".metadata")
            assert status == 200
            assert b"Requires-Dist: toolbox>=1" in body
    assert index.asked("/packages/") <= 4


def test_metadata_of_a_sdist_is_not_made_up(index, tmp_path):
    index.add("old-1.0.tar.gz", b"not even a tar")
    with proxied(index, tmp_path) as client:
        assert client.ask(client.files("old")["old-1.0.tar.gz"] + ".metadata")[0] == 404


def test_wheel_that_is_no_zip_has_no_metadata(index, tmp_path):
    index.add("bad-1.0-py3-none-any.whl", b"PK\x03\x04 nonsense" * 100)
    with proxied(index, tmp_path) as client:
        assert client.ask(client.files("bad")["bad-1.0-py3-none-any.whl"] + ".metadata")[0] == 404
        assert client.proxy.trouble == ()


@given(padding=st.integers(0, 300_000), chunk=st.integers(1, 70_000), start=st.integers(0, 300_000))
def test_range_reader_reads_what_the_file_holds(padding, chunk, start):
    data = os.urandom(padding + 10)
    reader = RangeReader(len(data), lambda a, b: data[a:b])
    reader.seek(start)
    assert reader.read(chunk) == data[start : start + chunk]
    reader.seek(-5, io.SEEK_END)
    assert reader.read() == data[-5:]


def test_metadata_larger_than_the_limit_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb-1.dist-info/METADATA", b"\0" * (9 * 1024**2))
    buffer.seek(0)
    with pytest.raises(ValueError, match="larger"):
        metadata_in(buffer)


# --- trouble --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [500, 502, 503, 504, 429, 401, 403])
def test_refusal_of_the_index_is_trouble_and_no_absence(index, tmp_path, code):
    index.wheel("toolbox", "1.0")
    index.status["/simple/toolbox"] = code
    with proxied(index, tmp_path) as client:
        assert client.ask("/simple/toolbox/")[0] == 502
        assert str(code) in client.proxy.trouble[0]
        index.status.clear()
        assert len(client.files("toolbox")) == 1, "the failure must not be kept"


def test_absence_is_no_trouble(index, tmp_path):
    with proxied(index, tmp_path) as client:
        assert client.ask("/simple/nosuch/")[0] == 404
        assert client.proxy.trouble == ()


def test_unreachable_index_is_trouble(tmp_path):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        dead = LocalIndex(url=f"http://127.0.0.1:{holder.getsockname()[1]}/simple/")
        with proxied(dead, tmp_path) as client:
            assert client.ask("/simple/toolbox/")[0] == 502
            assert "can't be reached" in client.proxy.trouble[0]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, b"{"), (JSON, b"[]"), (JSON, b'{"files": [1]}'), (JSON, b'{"files": [{"filename": "x"}]}'),
        ("text/plain", b"sign in"), ("", b""), (JSON, b"[" * 100_000),
    ],
)  # fmt: skip
def test_page_that_is_no_page_is_trouble(index, tmp_path, kind, body):
    index.raw_pages["toolbox"] = (kind, body)
    with proxied(index, tmp_path) as client:
        assert client.ask("/simple/toolbox/")[0] == 502
        assert client.proxy.trouble


def test_file_that_vanished_is_absent(index, tmp_path):
    index.wheel("toolbox", "1.0")
    with proxied(index, tmp_path) as client:
        address = client.files("toolbox")["toolbox-1.0-py3-none-any.whl"]
        index.projects["toolbox"].clear()
        assert client.ask(address)[0] == 404


# --- pages ----------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=20)
NAMES = TEXT.filter(lambda t: "/" not in t and t not in {".", ".."})
TIMES = st.none() | st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FILES = st.builds(
    IndexFile,
    filename=NAMES,
    url=st.just("https://index.test/f"),
    sha256=st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex),
    uploaded=TIMES,
    requires_python=st.none() | TEXT,
    yanked=st.booleans() | TEXT,
)


@FEW
@given(st.lists(FILES, max_size=5))
def test_page_as_json_keeps_every_fact(files):
    body = render_json("x", files)
    back = parse_page(body, JSON, "https://p.test/simple/x/")
    facts = [(f.filename, f.sha256, f.requires_python, f.yanked, f.uploaded) for f in files]
    assert [(f.filename, f.sha256, f.requires_python, f.yanked, f.uploaded) for f in back] == facts


@FEW
@given(st.lists(FILES, max_size=5))
def test_page_as_html_keeps_names_and_hashes(files):
    body = render_html("x", files)
    back = parse_page(body, "text/html; charset=utf-8", "https://p.test/simple/x/")
    assert [(f.filename, f.sha256, f.requires_python) for f in back] == [
        (f.filename, f.sha256, f.requires_python) for f in files
    ]


@FEW
@given(st.lists(FILES, max_size=8), TIMES.filter(lambda t: t is not None))
def test_view_never_shows_a_file_from_its_cutoff_on(files, cutoff):
    shown = select(files, "x", IndexView(cutoff=cutoff)).shown
    assert all(f.uploaded is not None and f.uploaded < cutoff for f in shown)
    assert [f for f in files if f.uploaded and f.uploaded < cutoff] == list(shown)


@given(st.binary(max_size=300), st.sampled_from([JSON, "text/html", "x/y"]))
def test_any_bytes_are_a_page_or_trouble(body, kind):
    with contextlib.suppress(IndexUnavailableError):
        parse_page(body, kind, "https://p.test/simple/x/")


def test_html_attributes_and_base_are_understood():
    page = b"""<html><head><base href="https://cdn.test/a/"></head><body>
    <a href="x-1.0-py3-none-any.whl#sha256=%s" data-requires-python="&gt;=3.6" data-yanked=""
       data-dist-info-metadata="sha256=%s">x</a>
    <a href="../b/x-1.0.tar.gz#md5=00" data-yanked="broken">y</a></body></html>""" % (b"a" * 64, b"b" * 64)
    wheel, sdist = parse_page(page, "text/html", "https://p.test/simple/x/")
    assert wheel.url == "https://cdn.test/a/x-1.0-py3-none-any.whl"
    assert (wheel.sha256, wheel.metadata, wheel.requires_python, wheel.yanked) == (
        "a" * 64, "b" * 64, ">=3.6", True,
    )  # fmt: skip
    assert (sdist.url, sdist.sha256, sdist.yanked) == ("https://cdn.test/b/x-1.0.tar.gz", None, "broken")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015-01-02T16:38:06.621099Z", datetime(2015, 1, 2, 16, 38, 6, 621099, tzinfo=UTC)),
        ("2026-10-27T21:30:20Z", datetime(2026, 10, 27, 21, 30, 20, tzinfo=UTC)),
        ("2020-01-01T02:00:00+02:00", datetime(2020, 1, 1, tzinfo=UTC)),
        ("2020-01-01", datetime(2020, 1, 1, tzinfo=UTC)),
        ("yesterday", None), ("", None), (None, None), (5, None),
    ],
)  # fmt: skip
def test_times_are_read_with_their_zone(text, expected):
    assert parse_time(text) == expected


def test_names_are_normalised_as_pep_503_says():
    assert {normalise(n) for n in ("A_b", "a.B", "a--b", "A-b")} == {"a-b"}


# --- which index ----------------------------------------------------------------------------------------


def test_index_of_the_environment_wins_over_the_installers_default(monkeypatch):
    assert default_index_url({"PIP_INDEX_URL": "http://pip.test/s", "UV_INDEX_URL": "http://uv.test/s"}) == (
        "http://uv.test/s"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert default_index_url({}).endswith("/simple")


def test_index_of_pips_settings_is_used(monkeypatch, tmp_path):
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = https://mirror.test/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.fspath(file))
    assert default_index_url({}) == "https://mirror.test/simple"


def test_certificates_named_but_absent_are_passed_over(tmp_path):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("x")
    assert default_ca_bundle({"SSL_CERT_FILE": "/nonexistent", "PIP_CERT": str(bundle)}) == bundle
    assert default_ca_bundle({}) is None


@pytest.mark.parametrize("url", ["ftp://x/simple", "file:///srv", "simple", "https://"])
def test_index_that_is_no_http_address_is_refused(url):
    with pytest.raises(ConfigError, match="index_url"):
        Upstream(url, environ={})


def test_credentials_go_to_the_index_and_into_no_message(index, tmp_path):
    index.wheel("toolbox", "1.0")
    index.status["/packages/"] = 503
    with_secret = LocalIndex(url=index.url.replace("//", "//user:s3cret@"))
    with proxied(with_secret, tmp_path) as client:
        client.ask(client.files("toolbox")["toolbox-1.0-py3-none-any.whl"])
        assert all("s3cret" not in text for text in client.proxy.trouble)
        assert client.proxy.trouble
    assert index.headers[0]["authorization"].startswith("Basic ")

"""The conformance suite, fourth part: nothing is reached from inside, and with the index nothing but its day.

Every client that fails inside is first shown to work outside against the same address, where that can be
done without a network: a test of a closed door needs a door.
"""

import contextlib
import functools
import http.server
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pip
import pytest
from conftest import QUICK, Bench, skip_or_fail
from git_building import git
from local_index import LocalIndex, serve

from swequarry.sandbox.contract import Bind, Command, Interpreter, Sandbox
from swequarry.sandbox.index_access import INDEX_PORT, INDEX_VARIABLES, with_index
from swequarry.sandbox.index_pages import IndexView
from swequarry.sandbox.index_proxy import IndexSource

PIP = "/opt/pip-of-the-test"
OLDEST_PYTHON_OF_PIP = (3, 10)


def own_addresses() -> list[str]:
    """Return the addresses at which this host's own servers answer: loopback, and one more where there is one."""
    found = ["127.0.0.1"]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        found.append(probe.getsockname()[0])
    return list(dict.fromkeys(found))


@dataclass
class Outside:
    """A git repository on this host, served over HTTP at every address; `asked` counts requests."""

    repository: Path
    urls: list[str]
    asked: list[str]


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    folder = tmp_path_factory.mktemp("outside")
    git(folder, "init", "-q", "--bare", "upstream.git")
    git(folder, "init", "-q", "work")
    (folder / "work" / "fix.py").write_text("fixed = True\n")
    git(folder / "work", "add", ".")
    git(folder / "work", "commit", "-q", "-m", "the fix")
    git(folder / "work", "push", "-q", str(folder / "upstream.git"), "HEAD:refs/heads/main")
    git(folder / "upstream.git", "update-server-info")
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    urls = [f"http://{address}:{server.server_address[1]}" for address in own_addresses()]
    yield Outside(folder / "upstream.git", urls, asked)
    server.shutdown()
    server.server_close()


def test_git_fetches_the_fix_from_nowhere(bench: Bench, outside: Outside) -> None:
    over_http = [f"{url}/upstream.git" for url in outside.urls]
    local = [str(outside.repository), f"file://{outside.repository}"]
    for url in (*over_http, *local):
        seen = subprocess.run(["git", "ls-remote", url], capture_output=True, check=True, timeout=60)
        assert b"refs/heads/main" in seen.stdout, "it can't be fetched outside either"
    outside.asked.clear()
    far = [
        "https://1.1.1.1/u.git",
        "git://1.1.1.1/u.git",
        "ssh://git@1.1.1.1/u.git",
        "git@example.org:u/v.git",
    ]
    script = (
        "git init -q r && cd r && git --version >&3; n=0; for url; do n=$((n + 1)); git remote add r$n $url;"
    )
    script += " timeout 20 git fetch -q r$n && echo reached $url >&3; done;"
    script += " git for-each-ref >&3; echo end >&3"
    variables = {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "GIT_TERMINAL_PROMPT": "0"}
    end = bench.run("/bin/sh", "-c", script, "sh", *over_http, *local, *far, variables=variables)
    first, *rest = end.report.decode().splitlines()
    assert first.startswith("git version")
    assert rest == ["end"], end.output.decode()
    assert outside.asked == []


def test_no_web_client_reaches_a_server_of_this_host(bench: Bench, outside: Outside) -> None:
    script = (
        "for url; do for get in 'curl -sSf -m 5' 'wget -q -T 5 -t 1 -O -' 'python -m pip download --no-deps'"
    )
    script += " 'python -c import,sys,urllib.request'; do timeout 20 $get $url && echo reached $url by $get >&3; done;"
    script += (
        " timeout 20 python -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=5)' $url"
    )
    script += " && echo reached $url by urllib >&3; done; echo end >&3"
    end = bench.run("/bin/sh", "-c", script, "sh", *outside.urls)
    assert end.report == b"end\n", end.output.decode()
    assert b"urlopen error" in end.output
    assert outside.asked == []


def test_names_are_resolved_by_nobody(bench: Bench) -> None:
    heard: list[bytes] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as resolver:
        resolver.bind(("0.0.0.0", 0))
        resolver.settimeout(0.2)
        ports = (53, resolver.getsockname()[1])
        lines = Path("/etc/resolv.conf").read_text(encoding="ascii", errors="replace").split("\n")
        servers = {line.split()[1] for line in lines if line.startswith("nameserver ")}
        hosts = sorted(
            {*servers, *own_addresses(), "127.0.0.53", "1.1.1.1", "8.8.8.8", "2606:4700:4700::1111"}
        )
        code = f"hosts, ports = {hosts!r}, {ports!r}" + QUERIES
        end = bench.py(code)
        with contextlib.suppress(TimeoutError):
            heard.append(resolver.recv(512))
    assert (end.output, end.exit_code) == (b"", 0)
    assert heard == []


QUERIES = """
import socket
query = bytes.fromhex('12340100000100000000000007') + b'example' + b'\\x03com\\x00\\x00\\x01\\x00\\x01'
for name in ('example.com', 'example.com.', 'host.docker.internal', 'gateway.docker.internal', 'metadata.google.internal'):
    for family in (socket.AF_INET, socket.AF_INET6, 0):
        try: print('resolved', name, socket.getaddrinfo(name, 80, family))
        except OSError: pass
for host in hosts:
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    for port in ports:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            s = socket.socket(family, kind); s.settimeout(0.3)
            try:
                s.connect((host, port)); s.send(query); print('answered', host, port, s.recv(512))
            except OSError: pass
"""


def test_addresses_lead_nowhere_whatever_the_family(bench: Bench) -> None:
    end = bench.py(ADDRESSES)
    assert (end.output, end.exit_code) == (b"", 0)


ADDRESSES = """
import os, socket, time
began = time.monotonic()
for host in ('1.1.1.1', '10.0.0.1', '172.17.0.1', '192.168.0.1', '169.254.169.254', '169.254.170.2', '100.100.100.200',
             '2606:4700:4700::1111', 'fd00:ec2::254', 'fe80::1', '::ffff:1.1.1.1', '64:ff9b::101:101'):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    for port in (22, 80, 443, 2375):
        try: socket.socket(family).connect((host, port)); print('connected', host, port)
        except OSError: pass
        try: socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (host, port)); print('sent', host, port)
        except OSError: pass
for host in ('255.255.255.255', '224.0.0.251', 'ff02::1'):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET: s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    try: s.sendto(b'x', (host, 9)); print('sent', host)
    except OSError: pass
for family, kind in ((socket.AF_INET, socket.SOCK_RAW), (17, socket.SOCK_RAW), (40, socket.SOCK_STREAM),
                     (38, socket.SOCK_SEQPACKET), (31, socket.SOCK_RAW), (21, socket.SOCK_SEQPACKET), (30, socket.SOCK_STREAM)):
    try: socket.socket(family, kind, 1 if family == 2 else 0); print('opened family', family)
    except OSError: pass
if time.monotonic() - began > 20: print('slow to fail')
"""


def test_own_network_namespace_cannot_be_given_a_link_or_a_route(bench: Bench) -> None:
    end = bench.py(NETLINK)
    assert end.output.split() == [b"-1"] * 4, end.output.decode()


NETLINK = """
import fcntl, socket, struct
def ask(kind, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.settimeout(5)
    s.send(struct.pack('=IHHII', 16 + len(body), kind, 0x605, 1, 0) + body)
    return struct.unpack_from('=i', s.recv(4096), 16)[0]
def attribute(kind, data): return struct.pack('=HH', 4 + len(data), kind) + data + bytes(-len(data) % 4)
link = struct.pack('=BxHiII', 0, 0, 0, 0, 0) + attribute(3, b'dm0\\0') + attribute(18, attribute(1, b'dummy\\0'))
address = struct.pack('=BBBBI', 2, 24, 0, 0, 1) + attribute(2, bytes([10, 9, 9, 9])) + attribute(1, bytes([10, 9, 9, 9]))
route = struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 3, 253, 1, 0) + attribute(4, struct.pack('=i', 1))
for kind, body in ((16, link), (20, address), (24, route)): print(ask(kind, body))
try: fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14s', b'lo', 1, b'')); print('changed lo')
except OSError as error: print(-error.errno)
"""


def test_sockets_in_the_folders_of_this_host_are_not_there(bench: Bench) -> None:
    made = []
    with contextlib.ExitStack() as held:
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
            server = held.enter_context(socket.socket(socket.AF_UNIX))
            path = f"{folder}/swq-{os.urandom(6).hex()}"
            with contextlib.suppress(OSError):
                server.bind(path)
                server.listen()
                Path(path).chmod(0o666)
                held.callback(os.unlink, path)
                made.append(path)
        assert made
        paths = [*made, "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"]
        paths += [
            "/run/dbus/system_bus_socket",
            "/run/systemd/private",
            "/dev/log",
            "/run/swequarry/index.sock",
        ]
        code = f"import socket\nfor path in {paths!r}:\n    try: socket.socket(socket.AF_UNIX).connect(path); print(path)\n"
        end = bench.py(code + "    except OSError: pass")
    assert (end.output, end.exit_code) == (b"", 0)


# --- with the index --------------------------------------------------------------------------------------


@dataclass
class Visit:
    """A sandbox with the index of a day, in which `own-project` is the project."""

    sandbox: Sandbox
    python: Interpreter
    index: LocalIndex
    newer: str

    def run(self, *argv: str, **variables: str):
        more = {**INDEX_VARIABLES, "PYTHONPATH": PIP, **variables}
        command = Command(argv=with_index(argv, self.python.path), variables=more)
        return self.sandbox.run(command, QUICK)

    def pip(self, *arguments: str):
        return self.run(
            self.python.path, "-m", "pip", "download", "--no-deps", "-q", "-d", "/tmp/d", *arguments
        )


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)], scope="module")
def visit(request, bench_of, tmp_path_factory) -> Iterator[Visit]:
    bench: Bench = bench_of(request.param)
    fitting = [p for p in bench.backend.interpreters() if _minor(p) >= OLDEST_PYTHON_OF_PIP]
    if not fitting:
        skip_or_fail(request.param, "no interpreter of this backend runs pip of the test")
    pip_ = Bind(source=Path(pip.__file__).parent, target=f"{PIP}/pip")
    with serve(LocalIndex()) as index:
        index.wheel("toolbox", "1.0", "2020-01-01T00:00:00Z")
        newer = index.wheel("toolbox", "2.0", "2021-01-01T00:00:00Z")
        index.wheel("own-project", "0.9", "2019-01-01T00:00:00Z")
        cache = tmp_path_factory.mktemp("cache")
        source = IndexSource(cache=cache, index_url=index.url, retries=0)
        view = IndexView(cutoff=datetime(2020, 6, 1, tzinfo=UTC), denied=frozenset({"own-project"}))
        with source.open(view) as proxy:
            made = bench.backend.create(
                bench.bare, index_socket=proxy.socket, binds=(pip_,), interpreter=fitting[0]
            )
            with made as sandbox:
                yield Visit(sandbox, fitting[0], index, newer)


def _minor(python: Interpreter) -> tuple[int, int]:
    major, minor = python.version.split(".")[:2]
    return int(major), int(minor)


def test_pip_finds_what_was_there_on_the_day(visit: Visit) -> None:
    end = visit.run(
        "/bin/sh",
        "-c",
        f"{visit.python.path} -m pip download --no-deps -q -d /tmp/d toolbox && ls /tmp/d",
    )
    assert end.output == b"toolbox-1.0-py3-none-any.whl\n"


@pytest.mark.parametrize(
    "wanted", ["toolbox==2.0", "toolbox>1", "own-project", "Own_Project", "OWN.-_project"]
)
def test_pip_finds_neither_the_later_release_nor_the_project_itself(visit: Visit, wanted: str) -> None:
    end = visit.pip(wanted)
    assert end.exit_code == 1
    assert b"No matching distribution found" in end.output


def test_index_is_no_way_to_anywhere_else(visit: Visit, outside: Outside) -> None:
    outside.asked.clear()
    before = len(visit.index.requests)
    upstream = visit.index.url.removesuffix("/simple/")
    newer = "toolbox-2.0-py3-none-any.whl"
    targets = [
        f"{upstream}/packages/{newer}", *outside.urls, "http://169.254.169.254/latest/meta-data/",
        "http://example.org/", "https://1.1.1.1/", f"http://127.0.0.1:{INDEX_PORT}/files/{visit.newer}/{newer}",
        f"http://127.0.0.1:{INDEX_PORT}/packages/{newer}", f"http://127.0.0.1:{INDEX_PORT}/simple/",
        f"http://127.0.0.1:{INDEX_PORT}/simple/../packages/{newer}", f"http://127.0.0.1:{INDEX_PORT}//{upstream}/",
        f"http://127.0.0.1:{INDEX_PORT}/simple/own-project/", f"http://127.0.0.1:{INDEX_PORT}/simple/own%2Dproject/",
        f"http://127.0.0.1:{INDEX_PORT}/simple/own_project/?x=toolbox", f"http://127.0.0.1:{INDEX_PORT}/etc/passwd",
    ]  # fmt: skip
    end = visit.run(visit.python.path, "-c", f"port, targets = {INDEX_PORT}, {targets!r}" + DETOURS)
    assert end.output == b"end\n"
    assert end.exit_code == 0
    assert outside.asked == []
    assert visit.index.asked(newer) == 0
    assert len(visit.index.requests) == before


DETOURS = """
import socket, urllib.request
proxy = 'http://127.0.0.1:%d' % port
openers = [urllib.request.build_opener(urllib.request.ProxyHandler({'http': proxy, 'https': proxy})),
           urllib.request.build_opener(urllib.request.ProxyHandler({}))]
for url in targets:
    for opener in openers:
        try: print('reached', url, opener.open(url, timeout=5).read(80))
        except (OSError, ValueError): pass
for line in ('CONNECT 1.1.1.1:443', 'CONNECT example.org:22', 'GET http://example.org/simple/toolbox/', 'POST /simple/toolbox/',
             'GET //example.org/simple/toolbox/', 'GET @example.org/simple/toolbox/', 'GET gopher://example.org/'):
    s = socket.create_connection(('127.0.0.1', port), 5)
    s.sendall((line + ' HTTP/1.1\\r\\nHost: example.org\\r\\nConnection: close\\r\\n\\r\\n').encode())
    said = s.makefile('rb').readline()
    if said.split()[1:2] not in ([b'400'], [b'404'], [b'405']): print('reached', line, said)
print('end')
"""


def test_index_within_reach_opens_no_other_network(visit: Visit, outside: Outside) -> None:
    outside.asked.clear()
    for code in (ADDRESSES, f"hosts, ports = {own_addresses()!r}, (53,)" + QUERIES):
        end = visit.run(visit.python.path, "-c", code)
        assert (end.output, end.exit_code) == (b"", 0)
    urls = " ".join(f"{url}/upstream.git" for url in outside.urls)
    script = f"for url in {urls}; do timeout 20 git ls-remote $url && echo reached; done; echo end"
    end = visit.run("/bin/sh", "-c", script)
    assert b"reached" not in end.output
    assert outside.asked == []

"""A project with forty unstable tests, five of each kind, among four hundred stable ones."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from textwrap import dedent

from swequarry.records import UnstableReason

_ORDER = """
SEEN = []

def test_first():
    SEEN.append("first")

def test_needs_the_first():
    assert "first" in SEEN

def test_needs_the_first_too():
    assert SEEN[:1] == ["first"]

def test_wants_no_last():
    assert "last" not in SEEN

def test_wants_no_last_either():
    assert SEEN.count("last") == 0

class TestShared:
    ready = False

    def test_set(self):
        type(self).ready = True

    def test_get(self):
        assert self.ready

def test_last():
    SEEN.append("last")
"""
_SEED = """
import random

WORDS = ["ash", "birch", "cedar", "fir", "oak"]

def test_hash():
    assert hash("{hash}") % 2 == 0

def test_first_of_a_set():
    assert next(iter({{"{pair}", "oak-{pair}"}})) == "{pair}"

def test_choice():
    assert random.choice(range({choice})) % 2 == 0

def test_shuffle():
    order = list(range({shuffle}))
    random.shuffle(order)
    assert order.index(0) % 2 == {parity}

def test_sum():
    assert random.random() < {sum}
"""
_TIME = """
import datetime, subprocess, time

def test_year():
    assert datetime.date.today().year < {after_next}

def test_expiry():
    assert time.time() < {expiry}

def test_same_day_next_year():
    today = datetime.datetime.now()
    assert today.replace(year=today.year + 1) > today

def test_zone():
    assert datetime.datetime.fromtimestamp(0).hour == 0

def test_offset():
    assert time.localtime(1_600_000_000).tm_gmtoff == 0
"""
_LOCALE = """
import locale, os, subprocess, sys

def test_write(tmp_path):
    (tmp_path / "a.txt").write_text("é")

def test_read(tmp_path):
    (tmp_path / "a.txt").write_bytes("é".encode("utf-8"))
    assert len((tmp_path / "a.txt").read_text()) == 1

def test_preferred():
    assert locale.getpreferredencoding(False).lower().replace("-", "") == "utf8"

def test_name(tmp_path):
    (tmp_path / "é").touch()

def test_child():
    done = subprocess.run([sys.executable, "-c", "print('\\\\xe9')"], stdout=subprocess.PIPE)
    assert done.stdout == "é\\n".encode("utf-8")
"""
_NETWORK = """
import socket, uuid

def fetch(host):
    if uuid.uuid4().int % 2:
        return
    socket.create_connection((host, 80), timeout=5)

def test_mirror_0(): fetch("192.0.2.1")
def test_mirror_1(): fetch("192.0.2.2")
def test_mirror_2(): fetch("198.51.100.1")
def test_name_0(): fetch("mirror.invalid")
def test_name_1(): fetch("other.invalid")
"""
_TIMING = """
import threading, time

def slowed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - wall) / max(time.process_time() - cpu, 1e-9)

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

def test_ratio(): assert slowed(lambda: burn(0.1)) < {bound}
def test_longer(): assert slowed(lambda: burn(0.2)) < {bound}

def test_deadline():
    begun = time.perf_counter()
    burn(0.1)
    assert time.perf_counter() - begun < 0.1 * {bound}

def test_many_steps():
    begun = time.perf_counter()
    for _ in range(10):
        burn(0.015)
    assert time.perf_counter() - begun < 0.15 * {bound}

def test_thread_in_time():
    done = []
    thread = threading.Thread(target=lambda: (burn(0.1), done.append(1)))
    thread.start()
    thread.join(0.1 * {bound})
    assert done
    thread.join()
"""
_RESOURCE = """
import os, uuid

def test_two_processors(): assert len(os.sched_getaffinity(0)) >= 2

def test_pool():
    workers = len(os.sched_getaffinity(0)) // 2
    assert 100 // max(workers, 0 or 1) and workers

def test_second_processor(): assert sorted(os.sched_getaffinity(0))[1:]

def exhaust(tmp_path):
    if uuid.uuid4().int % 2:
        return
    opened = []
    try:
        for number in range(6000):
            opened.append(open(os.devnull))
    finally:
        for file in opened:
            file.close()

def test_files(tmp_path): exhaust(tmp_path)
def test_more_files(tmp_path): exhaust(tmp_path)
"""
_UNKNOWN = """
import os, uuid

def test_uuid(): assert uuid.uuid4().int % 2
def test_bytes(): assert os.urandom(1)[0] < 128
def test_object(): assert uuid.uuid4().hex < "8"
def test_bits(): assert int.from_bytes(os.urandom(2), "big") % 2
def test_two_of_four(): assert os.urandom(1)[0] % 4 < 2
"""
_IMPORTS = "import datetime, json, os, pickle, random, time\n"
_STABLE = """
def test_clock_goes_on_{n}():
    begun = time.time()
    time.sleep(0.001)
    assert time.time() >= begun

def test_dates_are_dates_{n}():
    now = datetime.datetime.now()
    assert isinstance(now, datetime.date)
    assert pickle.loads(pickle.dumps(now)) == now
    assert now - datetime.timedelta(days=1) < now
    assert datetime.datetime.strptime(now.strftime("%Y-%m-%d"), "%Y-%m-%d").date() == now.date()

def test_seeded_{n}():
    assert random.Random({n}).random() == random.Random({n}).random()

def test_set_{n}():
    assert sorted({{"a", "b", "c{n}"}})[0] == "a"

def test_file_{n}(tmp_path):
    (tmp_path / "a").write_text("é", encoding="utf-8")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "é"

def test_home_{n}():
    assert os.path.isabs(os.path.expanduser("~"))

def test_fails_{n}():
    assert not "always"

def test_json_{n}():
    assert json.loads(json.dumps({{"n": {n}}})) == {{"n": {n}}}
"""
_FILES, _GROUPS = 10, 5


def project(now: datetime) -> tuple[dict[str, str], Mapping[str, UnstableReason]]:
    """Return the files of the project, and the unstable tests with what they depend on.

    The stable ones are four hundred beside those of the unstable files that only prepare something.
    """
    kinds = {
        UnstableReason.ORDER: _ORDER,
        UnstableReason.SEED: _SEED.format(
            hash="ash-7", pair="birch", choice=1000, shuffle=8, parity=0, sum=0.5
        ),
        UnstableReason.TIME: _TIME.format(
            after_next=now.year + 1, expiry=int((now + timedelta(days=90)).timestamp())
        ),
        UnstableReason.LOCALE: _LOCALE,
        UnstableReason.NETWORK: _NETWORK,
        UnstableReason.TIMING: _TIMING.format(bound=2.2),
        UnstableReason.RESOURCE: _RESOURCE,
        UnstableReason.UNKNOWN: _UNKNOWN,
    }
    files = {f"test_{kind.value}.py": dedent(text).lstrip() for kind, text in kinds.items()}
    prepares = {"test_first", "test_last", "test_set"}
    planted = {
        f"{name}::{test}": kind
        for kind, (name, text) in zip(kinds, files.items(), strict=True)
        for test in _tests(text)
        if test.rpartition("::")[2] not in prepares
    }
    for number in range(_FILES):
        groups = range(number * _GROUPS, (number + 1) * _GROUPS)
        files[f"test_stable_{number}.py"] = _IMPORTS + "".join(_STABLE.format(n=group) for group in groups)
    return files, planted


def _tests(text: str) -> list[str]:
    found, group = [], ""
    for line in text.splitlines():
        name = line.strip().removeprefix("def ").partition("(")[0]
        if line.startswith("class "):
            group = line[6:].partition(":")[0] + "::"
        elif line.startswith("def "):
            group = ""
        if line.strip().startswith("def test_"):
            found.append(group + name)
    return found

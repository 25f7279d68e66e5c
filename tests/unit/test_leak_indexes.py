"""Indexes of groups of files: shared by environments, never in the place of a file that wasn't read."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.leaks import groups
from reconstruct.leaks.answer import Answer, read_answer
from reconstruct.leaks.groups import FileGroup, grouped, prune_indexes
from reconstruct.leaks.index import FileIndex, build_index
from reconstruct.leaks.question import COMMON, Question
from reconstruct.leaks.scan import BaseTree, Scanned, WorldScan
from swequarry.errors import StorageError
from swequarry.pipeline.prune import Pruned, prune_leaks
from swequarry.sandbox.contract import ENVIRONMENT, TESTBED
from swequarry.sandbox.visible import VisibleFile
from swequarry.text.hashes import line_spans
from tests.leak_factory import FIXED, TEST, make_answer, patch, stored, visible

NO_BASE = BaseTree(blobs=frozenset(), modules=frozenset())
SITE = f"{ENVIRONMENT}/env/lib/python3.11/site-packages"


@pytest.fixture(scope="module")
def answer() -> Answer:
    return make_answer()


@pytest.fixture(autouse=True)
def small_groups(monkeypatch) -> None:
    """Make a group of every folder of the small packages here."""
    monkeypatch.setattr(groups, "LARGEST", 1)
    monkeypatch.setattr(groups, "SMALLEST", 1)


class Package:
    """An installed package in the pool of files: environments have the same files of it."""

    def __init__(self, pool, name: str, **files: bytes) -> None:
        self.folder = pool / name
        self.folder.mkdir(parents=True)
        self.name = name
        self.add(
            "__init__.py", b"def of_%s(value):\n    return value.count(%d)\n" % (name.encode(), len(name))
        )
        for file, data in files.items():
            self.add(f"{file}.py", data)

    def add(self, file: str, data: bytes) -> None:
        (self.folder / file).write_bytes(data)

    def files(self) -> list[VisibleFile]:
        return [visible(place, f"{SITE}/{self.name}/{place.name}") for place in sorted(self.folder.iterdir())]


class Shown:
    """A world with some packages and an empty checkout."""

    def __init__(self, *packages: Package) -> None:
        self._files = [file for package in packages for file in package.files()]

    def files(self, root: str) -> list[VisibleFile]:
        return self._files if root == ENVIRONMENT else []

    def host_files(self, _: frozenset[str]) -> list[VisibleFile]:
        return []


def scan(cache, answer: Answer, *packages: Package) -> Scanned:
    return WorldScan(Shown(*packages), answer, NO_BASE, cache).run({})


def found(scanned: Scanned) -> set[str]:
    return {finding.path.removeprefix(f"{SITE}/") for finding in scanned.findings}


def test_a_package_is_read_once_for_all_locks(tmp_path, answer: Answer, monkeypatch) -> None:
    shared, first, second = (Package(tmp_path / "pool", name) for name in ("numpy", "attrs", "flask"))
    cache = tmp_path / "leaks"
    assert scan(cache, answer, shared, first).from_index == 0
    read: list[str] = []
    reads = VisibleFile.read
    monkeypatch.setattr(VisibleFile, "read", lambda file: (read.append(file.path), reads(file))[1])
    scanned = scan(cache, answer, shared, second)
    assert (scanned.files, scanned.from_index) == (2, 1)
    assert read == [f"{SITE}/flask/__init__.py"]


def test_a_leak_in_a_known_package_is_found_by_every_task(tmp_path, answer: Answer) -> None:
    leaking = Package(tmp_path / "pool", "numpy", amounts=FIXED)
    other = Package(tmp_path / "pool", "attrs")
    for packages in ((leaking,), (leaking, other), (other, leaking)):
        assert found(scan(tmp_path / "leaks", answer, *packages)) == {"numpy/amounts.py"}


def test_a_package_seen_for_another_answer_does_not_pass_for_clean(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy", test_signs=TEST)
    other = read_answer([("gold", patch("src/a.py", b"def unheard_of(argument):\n    return argument\n"))])
    assert not found(scan(tmp_path / "leaks", other, package))
    assert found(scan(tmp_path / "leaks", answer, package)) == {"numpy/test_signs.py"}


def test_a_leak_beside_known_files_of_a_package_is_found(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy", plain=b"VALUE = 1\n")
    assert not found(scan(tmp_path / "leaks", answer, package))
    package.add("later.py", FIXED)
    half_known = scan(tmp_path / "leaks", answer, package)
    assert found(half_known) == {"numpy/later.py"}
    assert half_known.from_index == 0, "a group is known whole or not at all"


def test_a_file_in_the_place_of_a_known_one_is_read(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy", amounts=b"#" * len(FIXED))
    place = package.folder / "amounts.py"
    before = place.stat()
    assert not found(scan(tmp_path / "leaks", answer, package))
    (tmp_path / "new").write_bytes(FIXED)
    os.utime(tmp_path / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "new").rename(place)
    assert place.stat().st_size == before.st_size
    assert found(scan(tmp_path / "leaks", answer, package)) == {"numpy/amounts.py"}


def test_the_same_file_under_another_name_is_looked_at_by_that_name(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy", plain=FIXED)
    one = package.files()
    other = [replace(file, path=file.path.replace("/numpy/", "/numpy2/")) for file in one]
    assert FileGroup(tuple(one)).key != FileGroup(tuple(other)).key


def test_lines_of_many_packages_together_say_nothing(tmp_path, answer: Answer) -> None:
    common = b"".join(FIXED.splitlines(keepends=True)[4:])
    few = [Package(tmp_path / "few", f"p{n}", amounts=common) for n in range(COMMON - 1)]
    assert len(found(scan(tmp_path / "leaks", answer, *few))) == COMMON - 1
    lines_only = replace(answer, blocks=())
    many = [*few, Package(tmp_path / "many", "another", amounts=common)]
    assert not found(scan(tmp_path / "leaks", lines_only, *many))
    assert len(found(scan(tmp_path / "leaks", answer, *many))) == COMMON, "the n-grams still say it"


def test_a_copy_in_another_layout_is_found_in_its_group_alone(tmp_path, answer: Answer) -> None:
    layout = Package(tmp_path / "pool", "numpy", amounts=b" ".join(FIXED.replace(b"(", b" ( ").split()))
    others = [Package(tmp_path / "pool", f"p{n}") for n in range(3)]
    question = Question(answer)
    for group in grouped([file for package in (*others, layout) for file in package.files()]):
        question.ask(group, build_index(group.files))
    assert {file.path for file in question.suspects()} == {file.path for file in layout.files()}
    assert found(scan(tmp_path / "leaks", answer, *others, layout)) == {"numpy/amounts.py"}


def test_what_was_not_read_is_told_by_every_task(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy")
    package.add("damaged.whl", b"PK\x03\x04 and no more")
    for _ in range(2):
        assert scan(tmp_path / "leaks", answer, package).not_scanned == [f"{SITE}/numpy/damaged.whl"]


def test_what_was_not_read_of_checkout_and_host_is_told(tmp_path, answer: Answer) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"PK\x03\x04 and no more")

    class Odd(Shown):
        def files(self, root: str) -> list[VisibleFile]:
            return [visible(damaged, "/testbed/new.zip")] if root == TESTBED else []

        def host_files(self, _: frozenset[str]) -> list[VisibleFile]:
            return [visible(damaged, "/usr/src/amounts.py")]

    base = replace(NO_BASE, blobs=frozenset({"0" * 40}))
    for known in (base, NO_BASE):
        scanned = WorldScan(Odd(), answer, known, tmp_path / "leaks").run({})
        assert scanned.not_scanned == ["/testbed/new.zip", "/usr/src/amounts.py"]


def test_a_file_that_could_not_be_read_once_is_read_by_the_next_task(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy", amounts=FIXED)
    world, place = Shown(package), package.folder / "amounts.py"
    place.rename(tmp_path / "away")
    gone = WorldScan(world, answer, NO_BASE, tmp_path / "leaks").run({})
    assert (found(gone), gone.not_scanned) == (set(), [f"{SITE}/numpy/amounts.py"])
    (tmp_path / "away").rename(place)
    assert found(WorldScan(world, answer, NO_BASE, tmp_path / "leaks").run({})) == {"numpy/amounts.py"}


# --- the files of indexes ------------------------------------------------------------------------------


def test_a_damaged_index_is_not_believed(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy", amounts=FIXED)
    scan(tmp_path / "leaks", answer, package)
    (place,) = (tmp_path / "leaks").iterdir()
    whole = place.read_bytes()
    zeros = whole[:60] + bytes(len(whole) - 60)
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1], zeros, bytes(len(whole)), b"{}\n" + whole):
        place.write_bytes(damaged)
        assert FileIndex.load(place) is None
        assert found(scan(tmp_path / "leaks", answer, package)) == {"numpy/amounts.py"}
        assert place.read_bytes() == whole


@given(st.data())
def test_no_bytes_of_an_index_break_the_audit(tmp_path_factory, data) -> None:
    place = tmp_path_factory.mktemp("leaks") / "index"
    build_index([stored(place.parent, "a.py", FIXED)]).save(place)
    whole = place.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.binary(min_size=1, max_size=8))
    broken = whole[:at] + other + whole[at + len(other) :]
    place.write_bytes(broken)
    loaded, same = FileIndex.load(place), build_index([stored(place.parent, "a.py", FIXED)])
    assert loaded is None or (broken == whole and np.array_equal(loaded.lines, same.lines))


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, answer: Answer) -> None:
    (tmp_path / "leaks").write_text("no folder")
    package = Package(tmp_path / "pool", "numpy", amounts=FIXED)
    assert found(scan(tmp_path / "leaks", answer, package)) == {"numpy/amounts.py"}


def test_workers_that_index_the_same_package_leave_one_whole_index(tmp_path, answer: Answer) -> None:
    package = Package(tmp_path / "pool", "numpy", amounts=FIXED)
    with ThreadPoolExecutor(8) as workers:
        results = list(workers.map(lambda _: found(scan(tmp_path / "leaks", answer, package)), range(24)))
    assert all(result == {"numpy/amounts.py"} for result in results)
    (place,) = (tmp_path / "leaks").iterdir()
    assert FileIndex.load(place) is not None


def test_what_no_audit_used_is_pruned_and_what_one_used_stays(tmp_path, answer: Answer) -> None:
    cache = tmp_path / "leaks"
    used, unused = (Package(tmp_path / "pool", name) for name in ("numpy", "attrs"))
    scan(cache, answer, used, unused)
    (cache / "remains.of.a.dead.process").touch()
    for place in cache.iterdir():
        os.utime(place, (1, 1))
    scan(cache, answer, used)
    assert prune_indexes(cache, 1000, dry_run=True).removed == 2
    assert len(list(cache.iterdir())) == 3
    done = prune_leaks(cache, [Pruned(backend="bubblewrap")], grace_s=60)
    assert (done.removed, done.young) == (2, 1)
    assert scan(cache, answer, used, unused).from_index == 1


def test_numbers_of_removed_files_do_not_vouch_for_the_files_that_get_them_next(tmp_path, answer) -> None:
    cache = tmp_path / "leaks"
    scan(cache, answer, Package(tmp_path / "pool", "numpy"))
    assert prune_leaks(cache, [Pruned(backend="bubblewrap", removed=1)], dry_run=True).removed == 1
    assert prune_leaks(cache, [Pruned(backend="bubblewrap", removed=1)]).removed == 1
    assert not list(cache.iterdir())


def test_a_folder_of_indexes_that_is_none_is_an_error_with_advice(tmp_path) -> None:
    (tmp_path / "leaks" / "folder").mkdir(parents=True)
    with pytest.raises(StorageError, match="delete the folder by hand"):
        prune_indexes(tmp_path / "leaks", float("inf"))
    assert prune_indexes(tmp_path / "none", 0).removed == 0


# --- how files are grouped -----------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "site-packages", "numpy", "\udcff"])
PATHS = st.dictionaries(st.lists(NAMES, min_size=1, max_size=5).map("/".join), st.integers(0, 9), max_size=30)


def of_sizes(sizes: dict[str, int]) -> list[VisibleFile]:
    return [
        VisibleFile(f"/opt/{path}", b"", (1, number, size, 1))
        for number, (path, size) in enumerate(sizes.items())
    ]


@given(PATHS, st.integers(0, 40), st.integers(0, 5), st.integers(1, 4))
def test_every_file_is_in_one_group(sizes, largest, smallest, most) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(groups, "LARGEST", largest)
        patched.setattr(groups, "SMALLEST", smallest)
        patched.setattr(groups, "MOST_FILES", most)
        files = of_sizes(sizes)
        made = list(grouped(files))
        assert sorted(file.identity for group in made for file in group.files) == sorted(
            file.identity for file in files
        )
        assert all(1 <= len(group.files) <= most for group in made)
        assert [group.key for group in grouped(files[::-1])] == [group.key for group in made]


def test_a_change_of_one_package_leaves_the_others_known(monkeypatch) -> None:
    monkeypatch.setattr(groups, "LARGEST", 10)
    monkeypatch.setattr(groups, "SMALLEST", 3)
    site = "env/lib/site-packages"
    sizes = {f"{site}/numpy/{n}": 5 for n in range(4)} | {f"{site}/scipy/{n}": 5 for n in range(4)}
    before = {group.key for group in grouped(of_sizes(sizes | {f"{site}/six.py": 1}))}
    after = {group.key for group in grouped(of_sizes(sizes | {f"{site}/six.py": 2}))}
    assert (len(before), len(before & after)) == (3, 2)


# --- what an index answers -----------------------------------------------------------------------------

LINES = st.lists(
    st.sampled_from([b"a_line_that_says_something(%d)" % n for n in range(12)]), max_size=20
).map(b"\n".join)


@given(st.lists(LINES, max_size=8))
def test_an_index_names_the_files_that_have_a_line(tmp_path_factory, texts) -> None:
    folder = tmp_path_factory.mktemp("files")
    index = build_index([stored(folder, f"{number}.py", text) for number, text in enumerate(texts)])
    asked = [b"a_line_that_says_something(%d)" % n for n in range(12)]
    hits = index.hits(line_spans(b"\n".join(asked)).hashes)
    told = set(zip(hits.hashes.tolist(), hits.files.tolist(), strict=True))
    assert len(told) == hits.files.size
    assert told == {
        (place, number)
        for place, line in enumerate(asked)
        for number, text in enumerate(texts)
        if line in text.split(b"\n")
    }

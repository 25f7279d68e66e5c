"""Files that a partial mirror lacks come back from releases, and nothing else of a release does."""

import contextlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.absent_files import MAX_ARCHIVE_BYTES, RELEASES, nearest, recover
from swequarry.git.store import blob_id
from swequarry.sandbox.index_pages import IndexFile

DAY = datetime(2020, 6, 1, tzinfo=UTC)
WANTED, OTHER = b"wanted" * 9, b"another file of that name"


def archive(kind: str, members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    if kind == "whl":
        with zipfile.ZipFile(out, "w") as made:
            for name, data in members.items():
                made.writestr(name, data)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as made:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                made.addfile(info, io.BytesIO(data))
    return out.getvalue()


def listed(filename: str, days: float | None = 0, size: int | None = 100) -> IndexFile:
    uploaded = None if days is None else DAY + timedelta(days=days)
    sha = filename.encode().hex().ljust(64, "0")[:64]
    return IndexFile(filename=filename, url="u", sha256=sha, uploaded=uploaded, size_bytes=size)


@dataclass
class FakeIndex:
    """An index with archives by file name; counts downloads."""

    folder: Path
    archives: dict[str, bytes]
    fetched: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def releases(self) -> Iterator["FakeIndex"]:
        yield self

    def files(self, name: str) -> tuple[IndexFile, ...]:
        return tuple(listed(n, days) for days, n in enumerate(self.archives)) if name == "mine" else ()

    def download(self, file: IndexFile) -> Path:
        self.fetched.append(file.filename)
        path = self.folder / file.filename
        path.write_bytes(self.archives[file.filename])
        return path


@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
def test_a_member_counts_by_its_hash_not_by_its_name(tmp_path: Path, kind: str) -> None:
    name = "mine-1.0-py3-none-any.whl" if kind == "whl" else "mine-1.0.tar.gz"
    members = {"mine/a/data.bin": OTHER, "mine/b/data.bin": WANTED, "mine/later.py": b"the fix"}
    index = FakeIndex(tmp_path, {name: archive(kind, members)})
    added: list[bytes] = []
    absent = {blob_id(WANTED): "src/mine/b/data.bin", "0" * 40: "src/mine/never.bin"}
    assert recover(absent, "Mine", DAY, index, added.append) == {blob_id(WANTED)}
    assert added == [WANTED]


def test_the_search_ends_with_the_last_file_found(tmp_path: Path) -> None:
    wheel = archive("whl", {"x": WANTED})
    index = FakeIndex(tmp_path, {"mine-1.0-py3-none-any.whl": wheel, "mine-1.1-py3-none-any.whl": wheel})
    recover({blob_id(WANTED): "x"}, "mine", DAY, index, lambda _: None)
    assert index.fetched == ["mine-1.0-py3-none-any.whl"]


@pytest.mark.parametrize("broken", [b"", b"PK\x03\x04 cut", b"\x1f\x8b cut"])
def test_a_broken_archive_is_passed_over(tmp_path: Path, broken: bytes) -> None:
    good = archive("tar.gz", {"mine-1.1/x": WANTED})
    named = {"mine-1.0-py3-none-any.whl": broken, "mine-1.0.tar.gz": broken, "mine-1.1.tar.gz": good}
    index = FakeIndex(tmp_path, named)
    assert recover({blob_id(WANTED): "x"}, "mine", DAY, index, lambda _: None)


def test_an_unknown_distribution_gives_nothing(tmp_path: Path) -> None:
    index = FakeIndex(tmp_path, {})
    assert recover({blob_id(WANTED): "x"}, "unknown", DAY, index, lambda _: None) == frozenset()


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(-900, 900) | st.none()), max_size=40)
)
def test_only_near_releases_are_looked_into_wheels_first(
    releases: list[tuple[int, bool, int | None]],
) -> None:
    files = [
        listed(f"mine-{v}.0-py3-none-any.whl" if wheel else f"mine-{v}.0.tar.gz", days)
        for v, wheel, days in releases
    ]
    chosen = nearest(files, DAY)
    kinds = [file.is_wheel for file in chosen]
    assert kinds == sorted(kinds, reverse=True)
    assert len(chosen) <= 2 * RELEASES
    assert len({file.filename for file in chosen}) == len(chosen)
    assert bool(chosen) == bool(files)


def test_huge_odd_and_unhashed_files_are_left_out() -> None:
    huge = listed("mine-1.0.tar.gz", size=MAX_ARCHIVE_BYTES + 1)
    unhashed = IndexFile(filename="mine-2.0.tar.gz", url="u")
    assert nearest([huge, unhashed, listed("mine.exe"), listed("mine-3.egg")], DAY) == ()

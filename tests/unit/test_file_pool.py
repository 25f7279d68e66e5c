"""Equal files of layers become one; what differs in any way stays apart."""

import errno
import os
from pathlib import Path

import pytest

from swequarry.sandbox.file_pool import FilePool


def make(path: Path, data: bytes = b"equal", mode: int = 0o644, time_s: int = 10**9) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    os.utime(path, (time_s, time_s))
    return path


@pytest.fixture
def pool(tmp_path: Path) -> FilePool:
    (tmp_path / "pool").mkdir()
    return FilePool(tmp_path / "pool")


def test_equal_files_of_two_trees_become_one(tmp_path: Path, pool: FilePool) -> None:
    first, second = make(tmp_path / "a" / "x.py"), make(tmp_path / "b" / "deep" / "y.py")
    assert pool.share(tmp_path / "a") == 0
    assert pool.share(tmp_path / "b") == len(b"equal")
    assert first.samefile(second)
    assert second.read_bytes() == b"equal"


@pytest.mark.parametrize("other", [{"data": b"other"}, {"mode": 0o755}, {"time_s": 10**9 + 1}])
def test_files_that_differ_stay_apart(tmp_path: Path, pool: FilePool, other: dict[str, int]) -> None:
    first, second = make(tmp_path / "a" / "x"), make(tmp_path / "b" / "x", **other)
    pool.share(tmp_path / "a")
    assert pool.share(tmp_path / "b") == 0
    assert not first.samefile(second)


def test_links_and_set_id_files_are_left_alone(tmp_path: Path, pool: FilePool) -> None:
    make(tmp_path / "outside")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "outside")
    set_id = make(tmp_path / "a" / "set-id", mode=0o4755)
    pool.share(tmp_path / "a")
    assert (tmp_path / "a" / "link").is_symlink()
    assert set_id.stat().st_nlink == 1
    assert (tmp_path / "outside").stat().st_nlink == 1


def test_a_file_with_all_its_links_is_succeeded_by_the_next(
    tmp_path: Path, pool: FilePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(tmp_path / "a" / "x")
    pool.share(tmp_path / "a")
    link, full = os.link, first.stat().st_ino

    def limited(source: str | bytes | Path, target: str | bytes | Path) -> None:
        if Path(os.fsdecode(source)).stat().st_ino == full:
            raise OSError(errno.EMLINK, "too many links")
        link(source, target)

    monkeypatch.setattr(os, "link", limited)
    second = make(tmp_path / "b" / "x")
    assert pool.share(tmp_path / "b") == 0
    third = make(tmp_path / "c" / "x")
    assert pool.share(tmp_path / "c") == len(b"equal")
    assert third.samefile(second)
    assert not third.samefile(first)


def test_sweep_deletes_what_no_tree_has(tmp_path: Path, pool: FilePool) -> None:
    make(tmp_path / "a" / "kept")
    make(tmp_path / "a" / "gone", b"gone")
    make(tmp_path / "pool" / "new-0123")
    pool.share(tmp_path / "a")
    (tmp_path / "a" / "gone").unlink()
    assert pool.sweep() == 2
    assert make(tmp_path / "b" / "kept").read_bytes() == b"equal"
    assert pool.share(tmp_path / "b") == len(b"equal")


def test_a_folder_that_may_not_be_changed_costs_nothing_else(tmp_path: Path, pool: FilePool) -> None:
    make(tmp_path / "a" / "x")
    pool.share(tmp_path / "a")
    closed = make(tmp_path / "b" / "closed" / "x").parent
    free = make(tmp_path / "b" / "x")
    closed.chmod(0o555)
    pool.share(tmp_path / "b")
    closed.chmod(0o755)
    assert free.samefile(tmp_path / "a" / "x")
    assert (closed / "x").read_bytes() == b"equal"


def test_a_file_system_without_links_keeps_its_files(
    tmp_path: Path, pool: FilePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(tmp_path / "a" / "x")

    def refused(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no links here")

    monkeypatch.setattr(os, "link", refused)
    assert pool.share(tmp_path / "a") == 0
    assert first.read_bytes() == b"equal"

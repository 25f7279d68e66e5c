"""Deltas on overlay layers (bubblewrap) and on a plain tree (the first process of a container) agree."""

# ruff: noqa: PTH115, PTH118, PTH208
# paths are bytes here

import base64
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swequarry.delta import FileContent, TreeDelta
from swequarry.errors import SandboxError
from swequarry.sandbox.host import HostIdentity
from swequarry.sandbox.inside import boot
from swequarry.sandbox.layers import LayerStack, split_path

ME = HostIdentity(uid=os.geteuid(), gid=os.getegid(), drop=False)
NAMES = st.sampled_from([b"a", b"b", b"c\xff", b"d e"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
CONTENTS = st.builds(
    FileContent,
    data=st.sampled_from([b"", b"one", b"two\r\n"]),
    mode=st.sampled_from([0o100644, 0o100755]),
) | st.builds(FileContent, data=st.sampled_from([b"a", b"nowhere", b"/etc"]), mode=st.just(0o120000))
DELTAS = st.builds(
    TreeDelta,
    files=st.dictionaries(PATHS, CONTENTS, max_size=4),
    removed=st.lists(PATHS, max_size=3).map(tuple),
)


def listed(root: bytes, at: bytes = b"") -> dict[bytes, tuple[str, bytes]]:
    found: dict[bytes, tuple[str, bytes]] = {}
    for name in os.listdir(os.path.join(root, at)):
        path = os.path.join(at, name)
        full = os.path.join(root, path)
        mode = os.lstat(full).st_mode
        if stat.S_ISDIR(mode):
            found[path] = ("folder", b"")
            found |= listed(root, path)
        elif stat.S_ISLNK(mode):
            found[path] = ("link", os.readlink(full))
        else:
            found[path] = (oct(stat.S_IMODE(mode)), Path(os.fsdecode(full)).read_bytes())
    return found


def merged(stack: LayerStack, parts: tuple[bytes, ...] = ()) -> dict[bytes, tuple[str, bytes]]:
    found: dict[bytes, tuple[str, bytes]] = {}
    for name in stack._entries(parts):
        inner = (*parts, name)
        host, status = stack._visible(inner)[0]
        path = b"/".join(inner)
        if stat.S_ISDIR(status.st_mode):
            found[path] = ("folder", b"")
            found |= merged(stack, inner)
        elif stat.S_ISLNK(status.st_mode):
            found[path] = ("link", os.readlink(host))
        else:
            found[path] = (oct(stat.S_IMODE(status.st_mode)), stack.read(path))
    return found


def put_plain(root: Path, delta: TreeDelta, monkeypatch: pytest.MonkeyPatch) -> bool:
    contents = iter([content.data for content in delta.files.values()])
    monkeypatch.setattr(boot, "_read_exactly", lambda _: next(contents))

    def encoded(path: bytes) -> str:
        return base64.b64encode(path).decode()

    request = {
        "root": str(root),
        "removed": [encoded(path) for path in delta.removed],
        "files": [[encoded(path), c.mode, len(c.data)] for path, c in delta.files.items()],
    }
    try:
        boot._put(request)
    except (boot.Refused, OSError):
        return False
    return True


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deltas=st.lists(DELTAS, min_size=1, max_size=4))
def test_layers_and_plain_tree_end_alike(tmp_path_factory, deltas: list[TreeDelta]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        folder = tmp_path_factory.mktemp("agree")
        plain = folder / "plain"
        plain.mkdir()
        layers: list[Path] = []
        for number, delta in enumerate(deltas):
            layers.append(folder / f"layer{number}")
            layers[-1].mkdir()
            stack = LayerStack(layers, ME)
            try:
                stack.apply(delta)
                done = True
            except SandboxError:
                done = False
            assert put_plain(plain, delta, monkeypatch) is done
            if not done:
                return
            assert merged(stack) == listed(os.fsencode(plain))


@given(st.binary(max_size=8))
def test_path_that_is_split_can_not_leave_the_root(path: bytes) -> None:
    try:
        parts = split_path(path)
    except SandboxError:
        return
    assert b"/".join(parts) == path
    assert not {b"", b".", b".."} & set(parts)


def test_write_through_a_link_of_a_lower_layer_is_refused(tmp_path: Path) -> None:
    for name in ("low", "top", "host"):
        (tmp_path / name).mkdir()
    (tmp_path / "low" / "out").symlink_to(tmp_path / "host")
    stack = LayerStack([tmp_path / "low", tmp_path / "top"], ME)
    with pytest.raises(SandboxError, match="link"):
        stack.apply(TreeDelta(files={b"out/x": FileContent(data=b"escaped")}))
    with pytest.raises(SandboxError, match="link"):
        stack.read(b"out/x")
    assert list((tmp_path / "host").iterdir()) == []


def test_lower_layers_are_never_changed(tmp_path: Path) -> None:
    (tmp_path / "low" / "d").mkdir(parents=True)
    (tmp_path / "low" / "d" / "f").write_text("kept")
    (tmp_path / "top").mkdir()
    stack = LayerStack([tmp_path / "low", tmp_path / "top"], ME)
    stack.apply(TreeDelta(files={b"d/g": FileContent(data=b"new")}, removed=(b"d/f",)))
    assert (tmp_path / "low" / "d" / "f").read_text() == "kept"
    with pytest.raises(FileNotFoundError):
        stack.read(b"d/f")
    assert stack.read(b"d/g") == b"new"

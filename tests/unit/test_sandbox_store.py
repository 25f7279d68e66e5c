"""The stores: whole or not at all, nothing in use is swept, nothing dead is kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swequarry.errors import SandboxError
from swequarry.sandbox.bubblewrap_store import WorldStore
from swequarry.sandbox.contract import Interpreter
from swequarry.sandbox.docker_store import DockerStore, DockerWorld
from swequarry.sandbox.trees import copy_tree, remove_tree

PYTHON = Interpreter(version="3.9.1", path="/p/bin/python3.9", prefix="/p")


def add(store: WorldStore, key: str, below: tuple[str, ...] = ()) -> str:
    with store.private_folder() as folder:
        (folder / "layer" / "testbed").mkdir(parents=True)
        return store.add(key, below, folder / "layer", PYTHON)


def test_world_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    first = WorldStore(tmp_path / "s")
    below = add(first, "base")
    top = add(first, "key with\nodd/../characters é", (below,))
    found = WorldStore(tmp_path / "s").find("key with\nodd/../characters é")
    assert found is not None
    assert (found.layers, found.interpreter) == ((below, top), PYTHON)
    assert first.find("never") is None


def test_second_world_of_a_key_changes_nothing(tmp_path: Path) -> None:
    store = WorldStore(tmp_path / "s")
    layer = add(store, "k")
    add(store, "k")
    found = store.find("k")
    assert found is not None
    assert found.layers == (layer,)
    assert store.sweep() == 1, "the layer that lost is left over"


def test_layer_without_a_world_is_swept_and_a_shared_one_stays(tmp_path: Path) -> None:
    store = WorldStore(tmp_path / "s")
    below = add(store, "base")
    add(store, "top", (below,))
    store.remove("base")
    assert store.sweep() == 0, "another world still has the layer"
    store.remove("top")
    with store.using((below,)):
        assert store.sweep() == 1, "a layer in use is left for later"
    assert store.sweep() == 1
    assert list((tmp_path / "s" / "layers").iterdir()) == []


def test_world_that_lost_a_layer_is_no_world_and_can_be_stored_again(tmp_path: Path) -> None:
    store = WorldStore(tmp_path / "s")
    remove_tree(store.layer(add(store, "k")))
    assert store.find("k") is None
    add(store, "k")
    assert store.find("k") is not None


def test_folder_of_a_killed_process_is_swept_and_a_living_one_is_not(tmp_path: Path) -> None:
    store = WorldStore(tmp_path / "s")
    code = (
        "import os, sys; from pathlib import Path\n"
        "from swequarry.sandbox.bubblewrap_store import WorldStore\n"
        "with WorldStore(Path(sys.argv[1])).private_folder() as folder:\n"
        "    (folder / 'left').write_text('x'); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "s"], check=False).returncode == -9
    with store.private_folder() as living:
        assert store.sweep() == 1
        assert living.is_dir()
    assert list((tmp_path / "s" / "sandboxes").iterdir()) == []


def test_damaged_world_file_is_said_and_not_taken_for_absent(tmp_path: Path) -> None:
    store = WorldStore(tmp_path / "s")
    add(store, "k")
    next((tmp_path / "s" / "worlds").glob("*.json")).write_text("{")
    with pytest.raises(SandboxError, match="damaged"):
        store.find("k")


def test_store_is_closed_to_other_users(tmp_path: Path) -> None:
    WorldStore(tmp_path / "s")
    assert (tmp_path / "s").stat().st_mode & 0o007 == 0


def test_copy_that_fails_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "big").write_bytes(bytes(1 << 20))
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from swequarry.errors import SandboxError\nfrom swequarry.sandbox.trees import copy_tree\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: copy_tree(Path(sys.argv[1]), Path(sys.argv[2]))\nexcept SandboxError: sys.exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "tree", tmp_path / "copy"], check=False)
    assert done.returncode == 9
    assert not (tmp_path / "copy").exists()


def test_copy_keeps_times_links_and_hard_links(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "f").write_text("x")
    os.link(tree / "f", tree / "same")
    (tree / "l").symlink_to("f")
    os.utime(tree / "f", ns=(1, 1_234_567_890_123_456_789))
    copy_tree(tree, tmp_path / "copy")
    copied = (tmp_path / "copy" / "f").stat()
    assert (copied.st_mtime_ns, copied.st_nlink) == (1_234_567_890_123_456_789, 2)
    assert (tmp_path / "copy" / "l").readlink() == Path("f")


def test_tree_that_is_closed_and_deep_is_removed(tmp_path: Path) -> None:
    code = (
        "import os, sys; os.makedirs(sys.argv[1]); os.chdir(sys.argv[1])\n"
        "for _ in range(1500): os.mkdir('d'); os.chdir('d')\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "deep"], check=True)
    (tmp_path / "deep" / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "deep" / "closed").chmod(0)
    remove_tree(tmp_path / "deep")
    assert not (tmp_path / "deep").exists()


def test_docker_worlds_are_kept_apart_by_store(tmp_path: Path) -> None:
    one, other = DockerStore(tmp_path / "a"), DockerStore(tmp_path / "b")
    assert one.id != other.id
    assert DockerStore(tmp_path / "a").id == one.id
    world = DockerWorld(key="k", image="swequarry/world:x", boot="/p/bin/python3.9", interpreter=PYTHON)
    with one.changing():
        one.add(world)
    assert one.find("k") == world
    assert other.find("k") is None


def test_docker_tree_goes_with_its_world(tmp_path: Path) -> None:
    store = DockerStore(tmp_path / "s")
    (tmp_path / "tree").mkdir()
    store.add_tree(tmp_path / "tree", "k")
    with store.sweeping() as worlds:
        assert store.sweep(worlds) == 0
    store.forget("k")
    with store.sweeping() as worlds:
        assert store.sweep(worlds) == 1

"""Answers planted in real worlds and images: the audit finds each at its place, and nothing in clean ones."""

import base64
import io
import tarfile
import uuid

import pytest

from reconstruct.leaks.answer import Answer, read_answer
from reconstruct.leaks.images import scan_image
from reconstruct.leaks.scan import BaseTree, WorldScan
from swequarry.delta import FileContent, TreeDelta
from swequarry.sandbox.bubblewrap_store import WorldStore
from swequarry.sandbox.contract import ENVIRONMENT, Command
from swequarry.sandbox.visible import VisibleWorld
from tests.integration.conftest import QUICK

FIX = b"""\
def divide_with_remainder(total, parts):
    smallest, remainder = divmod(total, parts)
    first_shares = [smallest + 1] * remainder
    return first_shares + [smallest] * (parts - remainder)
"""
TEST = b"""\
def test_the_remainder_goes_to_the_first():
    assert divide_with_remainder(7, 3) == [3, 2, 2]
    assert sum(divide_with_remainder(1000, 7)) == 1000
"""
BASE = BaseTree(blobs=frozenset(), modules=frozenset({"pkg/__init__.py"}), project="pkg", version="1.0")


def added(path: str, text: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,{len(lines) + 1} @@\n VALUE = 1\n"
    return head.encode() + b"".join(b"+" + line for line in lines)


@pytest.fixture(scope="module")
def answer() -> Answer:
    patches = [("gold", added("pkg/__init__.py", FIX)), ("tests", added("tests/test_pkg.py", TEST))]
    return read_answer(patches, names=("acme__pkg-5",))


def test_what_is_planted_in_a_world_is_found_and_a_removed_file_is_not(bench_of, tmp_path, answer):
    bench = bench_of("bubblewrap")
    store = WorldStore(bench.store / "bubblewrap")

    def scan(key: str):
        return WorldScan(VisibleWorld(store, key), answer, BASE, tmp_path).run({})

    clean = scan(bench.world.key)
    assert clean.findings == []
    assert clean.files > 3
    site = next(
        f.path for f in VisibleWorld(store, bench.world.key).files(ENVIRONMENT) if f.path.endswith("cfg")
    )
    assert site == f"{ENVIRONMENT}/env/pyvenv.cfg"
    files = {
        b"env/lib/python3/site-packages/tests/test_pkg.py": FileContent(data=TEST),
        b"env/lib/python3/site-packages/pkg/__init__.py": FileContent(data=b"later\n"),
        b"env/lib/python3/site-packages/pkg-1.1.dist-info/METADATA": FileContent(data=b"Version: 1.1\n"),
        b"acme__pkg-5/run.sh": FileContent(data=b"true\n"),
    }
    with bench.backend.create(bench.world) as sandbox:
        sandbox.put(TreeDelta(files=files), root=ENVIRONMENT)
        sandbox.put(TreeDelta(files={b"build/lib/pkg/__init__.py": FileContent(data=FIX)}))
        code = "import py_compile; py_compile.compile('build/lib/pkg/__init__.py', 'moved.pyc')"
        assert sandbox.run(Command(argv=("python", "-c", code)), QUICK).ok
        sandbox.commit("planted")
    with bench.backend.create(bench.backend.import_tree(tmp_path, "planted")) as sandbox:
        sandbox.put(TreeDelta(removed=(b"build", b"moved.pyc")))
        sandbox.commit("tidied")
    try:
        found = {
            (finding.path.removeprefix(ENVIRONMENT), finding.kind) for finding in scan("planted").findings
        }
        assert found >= {
            ("/env/lib/python3/site-packages/tests/test_pkg.py", "tests"),
            ("/env/lib/python3/site-packages/pkg/__init__.py", "copy"),
            ("/env/lib/python3/site-packages/pkg-1.1.dist-info/METADATA", "copy"),
            ("/acme__pkg-5/run.sh", "name"),
            ("/testbed/build/lib/pkg/__init__.py", "gold"),
            ("/testbed/moved.pyc", "gold"),
        }
        assert not any(f.path.startswith("/testbed/") for f in scan("tidied").findings)
    finally:
        bench.backend.remove_world("planted")
        bench.backend.remove_world("tidied")


@pytest.mark.docker
def test_what_is_planted_in_an_image_is_found_even_below_a_layer_that_hides_it(bench_of, answer):
    engine = bench_of("docker").backend.engine
    made = [f"swequarry/test-{uuid.uuid4().hex}:{n}" for n in (1, 2)]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in (("tmp/eval.sh", TEST), ("opt/other.py", FIX)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    try:
        engine.api.import_image_from_data(packed.getvalue(), repository=made[0][:-2], tag="1")
        file = f"FROM {made[0]}\nCOPY eval.sh /tmp/eval.sh\nLABEL pull=acme__pkg-5\nENV NOTE={base64.b64encode(FIX).decode()}\n"
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            for name, data in (("Dockerfile", file.encode()), ("eval.sh", b"true\n")):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        context.seek(0)
        said = list(engine.api.build(fileobj=context, custom_context=True, tag=made[1], rm=True))
        assert engine.image(made[1]) is not None, said
        found = {
            (finding.path, finding.kind) for finding in scan_image(engine, made[1], answer, BASE).findings
        }
        assert found >= {
            ("/tmp/eval.sh", "tests"),
            ("/opt/other.py", "gold"),
            ("label pull", "name"),
            ("variable NOTE!base64", "gold"),
        }
        assert any(path.startswith("history") for path, _ in found)
    finally:
        for name in reversed(made):
            engine.remove_image(name)

"""The leak audit on texts and places: what gives an answer away is found, what is alike by chance isn't."""

import base64
import bz2
import gzip
import importlib.util
import io
import json
import lzma
import marshal
import re
import tarfile
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.leaks import answer as answers
from reconstruct.leaks import views
from reconstruct.leaks.answer import Answer, Novelty, is_distinctive, read_answer
from reconstruct.leaks.groups import FileGroup
from reconstruct.leaks.index import FileIndex, build_index
from reconstruct.leaks.judge import examine
from reconstruct.leaks.places import (
    file_name_finding,
    foreign_code,
    is_second_copy,
    metadata_finding,
    name_findings,
    package_paths,
    recorded_size,
    source_of,
)
from reconstruct.leaks.question import Question
from reconstruct.leaks.scan import Scanned, scan_values
from reconstruct.leaks.views import View, views_of
from swequarry.text.containment import HashSet
from swequarry.text.hashes import grams_of
from tests.leak_factory import (
    BASE,
    FIXED,
    GOLD_PATCH,
    NAMES,
    TEST,
    TEST_PATCH,
    make_answer,
    patch,
    stored,
)


@pytest.fixture(scope="module")
def answer() -> Answer:
    return make_answer()


def found(answer: Answer, path: str, data: bytes) -> set[str]:
    own = source_of(path) is not None and path.rpartition("/")[2].partition(".")[0] in answer.stems
    findings = [examine(view, answer, own_module=own) for view in views_of(path, data)]
    return {finding.kind for finding in findings if finding is not None}


def zipped(name: str, data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return packed.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def compiled(source: bytes, name: str = "amounts.py") -> bytes:
    code = marshal.dumps(compile(source, name, "exec"))
    return importlib.util.MAGIC_NUMBER + bytes(8) + len(source).to_bytes(4, "little") + code


def in_lines(before: bytes, after: bytes) -> bytes:
    return b"".join(before + line + after for line in base64.encodebytes(FIXED).split())


def packed(*blobs: bytes) -> bytes:
    """Return a pack of git with some blobs."""
    made = b"PACK" + (2).to_bytes(4, "big") + len(blobs).to_bytes(4, "big")
    for data in blobs:
        made += bytes([0xB0 | len(data) & 15, len(data) >> 4]) + zlib.compress(data)
    return made + bytes(20)


CHANNELS = {
    "copied module": ("/opt/x/other_name.py", FIXED),
    "wheel in a cache": ("/home/sandbox/.cache/pip/tally-1.1.whl", zipped("tally/amounts.py", FIXED)),
    "sdist": ("/opt/cache/tally-1.1.tar.gz", gzip.compress(tarred("tally-1.1/src/tally/amounts.py", FIXED))),
    "wheel in a tar.xz": ("/opt/c.tar.xz", lzma.compress(tarred("w.whl", zipped("a.py", FIXED)))),
    "bzip2": ("/var/a.bz2", bz2.compress(FIXED)),
    "byte code of the module": ("/opt/x/__pycache__/amounts.cpython-311.pyc", compiled(FIXED)),
    "byte code under another name": ("/opt/x/zz.pyc", compiled(FIXED)),
    "patch file": ("/tmp/fix.patch", GOLD_PATCH),
    "patch in JSON": ("/opt/meta.json", json.dumps({"patch": GOLD_PATCH.decode()}).encode()),
    "patch in base64": ("/opt/eval.sh", b"echo '" + base64.b64encode(GOLD_PATCH) + b"' | base64 -d"),
    "other layout": ("/opt/x/l.py", b" ".join(FIXED.replace(b"(", b" ( ").split())),
    "other indentation, CRLF": ("/opt/x/i.py", FIXED.replace(b"    ", b"\t").replace(b"\n", b"\r\n")),
    "UTF-16 without a mark": ("/opt/x/v.txt", FIXED.decode().encode("utf-16-le")),
    "zip application": ("/opt/bin/tally.pyz", b"#!/usr/bin/env python3\n" + zipped("a.py", FIXED)),
    "byte code by any name": ("/opt/x/cache.bin", compiled(FIXED)),
    "base64 in a block of YAML": ("/opt/a.yml", b"data: |\n" + in_lines(b"  ", b"\n")),
    "base64 in texts of their own": ("/opt/a.py", b"DATA = (\n" + in_lines(b'    b"', b'"\n') + b")\n"),
    "deflated in base64": ("/opt/b.txt", base64.b64encode(zlib.compress(FIXED))),
    "object of another git folder": ("/opt/y/.git/objects/ab/cd", zlib.compress(b"blob 9\0" + FIXED)),
    "pack of another git folder": ("/opt/y/.git/objects/pack/pack-1.pack", packed(BASE, FIXED)),
    "bundle": ("/opt/y.bundle", b"# v2 git bundle\n" + b"a" * 40 + b" HEAD\n\n" + packed(FIXED)),
    "notebook": (
        "/opt/x.ipynb",
        json.dumps({"source": FIXED.decode().splitlines(keepends=True)}, indent=1).encode(),
    ),
    "patch that takes the fix back": ("/opt/x.patch", patch("src/tally/amounts.py", BASE, FIXED)),
    "UTF-16": ("/opt/x/u.txt", FIXED.decode().encode("utf-16")),
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_fix_does_not_hide_in_a_channel(answer: Answer, channel: str) -> None:
    assert "gold" in found(answer, *CHANNELS[channel])


def test_hidden_tests_do_not_hide_in_site_packages(answer: Answer) -> None:
    assert found(answer, "/opt/swequarry/env/lib/site-packages/tests/test_signs.py", TEST) == {"tests"}
    assert found(answer, "/opt/x/test_signs.pyc", compiled(TEST, "test_signs.py")) == {"tests"}


@pytest.mark.parametrize(
    "text",
    [
        BASE,
        b'assert parse_amount("-12.5") == -1250\n',
        b"import os\n\n\ndef parse(text):\n    return text.strip().lstrip()\n",
        b"    return super().__init__(*args, **kwargs)\n" * 20,
    ],
)
def test_a_likeness_is_no_leak(answer: Answer, text: bytes) -> None:
    assert found(answer, "/opt/x/site-packages/lib.py", text) == set()
    if b"assert" not in text:
        assert (
            found(answer, "/opt/x/lib.pyc", compiled(text.lstrip(), "lib.py") if text == BASE else text)
            == set()
        )


def test_what_base_has_is_not_looked_for(answer: Answer) -> None:
    novelty = Novelty(answer)
    novelty.see(FIXED)
    novelty.see(TEST)
    rest = novelty.rest()
    assert not rest.all_lines
    assert not rest.blocks


def test_syntax_is_not_distinctive() -> None:
    for line in (
        b"from a_long_name.of_a_module import something",
        b"@pytest.mark.parametrize(",
        b"}",
        b"-" * 60,
    ):
        assert not is_distinctive(line)
    assert is_distinctive(b'thousands_removed = whole.replace(old, "")')


def test_a_patch_does_not_hide_in_a_variable_or_label(answer: Answer) -> None:
    result = Scanned()
    values = {
        "variable PATCH": GOLD_PATCH.decode(),
        "label eval": base64.b64encode(TEST_PATCH).decode(),
        "history 3": "RUN echo acme__tally-17",
        "variable FAIL_TO_PASS": "[]",
        "label source": "https://example.org/acme/tally/pull/17",
        "variable HOME": "/home/sandbox",
        "label other": "acme/tally/pull/171",
    }
    scan_values(values, answer, result)
    places = {finding.path.partition("!")[0] for finding in result.findings}
    assert places == set(values) - {"variable HOME", "label other"}
    assert [f.kind for f in name_findings({"label a": "SWE_BENCH_ID=3"}, NAMES)] == ["name"]


def test_a_damaged_archive_is_told_not_trusted() -> None:
    for broken in (zipped("a.py", FIXED)[:60], gzip.compress(FIXED)[:40], b"\xfd7zXZ\0 no"):
        assert any(view.data is None for view in views_of("/x", broken))


def test_what_only_looks_like_an_archive_is_read_as_text(answer: Answer) -> None:
    assert found(answer, "/x", b"BZh\n" + FIXED) == {"gold"}


def test_an_archive_below_the_deepest_level_is_told() -> None:
    data = FIXED
    for _ in range(5):
        data = gzip.compress(data)
    assert any(view.data is None for view in views_of("/x", data))


@given(
    st.sampled_from(
        [
            zipped("a.py", FIXED),
            tarred("a", FIXED),
            gzip.compress(FIXED),
            compiled(FIXED),
            packed(BASE, FIXED),
        ]
    ),
    st.data(),
)
def test_no_bytes_break_the_reader(whole: bytes, data) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    broken = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + data.draw(st.integers(0, 8)) :]
    assert list(views_of("/x.pyc" if data.draw(st.booleans()) else "/x", broken))


def test_later_code_beside_the_checkout_is_seen_by_its_place() -> None:
    modules = package_paths(
        ["src/tally/amounts.py"], frozenset({"src/tally/__init__.py", "src/tally/amounts.py"})
    )
    assert is_second_copy("/opt/swequarry/env/lib/python3.11/site-packages/tally/amounts.py", modules)
    assert not is_second_copy(
        "/opt/swequarry/env/lib/python3.11/site-packages/x/_vendor/tally/amounts.py", modules
    )
    later = "/opt/swequarry/env/lib/site-packages/Tally-1.1.dist-info/METADATA"
    assert metadata_finding(later, "tally", "1.0") is not None
    assert metadata_finding(later, "tally", "1.1") is None


def test_byte_code_of_another_source_is_seen() -> None:
    path = "/testbed/src/tally/__pycache__/amounts.cpython-311.pyc"
    assert source_of(path) == "/testbed/src/tally/amounts.py"
    recorded = recorded_size(compiled(FIXED))
    assert foreign_code(path, recorded, len(FIXED)) is None
    assert foreign_code(path, recorded, len(BASE)) is not None
    assert foreign_code(path, recorded, None) is not None
    old = (3379).to_bytes(2, "little") + b"\r\n" + bytes(4) + (227).to_bytes(4, "little") + b"\xe3" * 9
    assert recorded_size(old) == 227, "Python 3.6 has no flags"


def test_a_dependency_that_is_a_benchmark_is_no_leak() -> None:
    assert file_name_finding("/opt/swequarry/env/lib/site-packages/swebench/a.py", NAMES) is None
    assert file_name_finding("/opt/FAIL_TO_PASS.json", NAMES) is not None
    assert file_name_finding("/opt/acme__tally-17/x", NAMES) is not None
    assert file_name_finding("/opt/acme__tally-171/x", NAMES) is None


RUNS = st.lists(
    st.sampled_from(
        [
            b"a" * 59,
            b"B+/9" * 15,
            b"x" * 120,
            b"x-_" * 40,
            b"=",
            b"\n",
            b"\r\n",
            b"  ",
            b'"',
            b"'",
            b"\\n",
            b"_",
            b"#",
        ]
    ),
    max_size=12,
)


@given(RUNS.map(b"".join))
def test_the_fast_look_for_base64_misses_nothing(data: bytes) -> None:
    assert list(views._base64_texts(data)) == [match[0] for match in views._BASE64.finditer(data)]


@given(
    st.lists(st.sampled_from([b"\n", b">", b"@@ -1,2 +3 @@", b"@@ -1", b" +4,5 @@", b"a"]), max_size=6).map(
        b"".join
    )
)
def test_a_patch_is_known_by_any_of_its_lines(data: bytes) -> None:
    is_patch = re.search(rb"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|^>", data, re.MULTILINE) is not None
    assert len([view for view in views_of("/x", data) if view.path == "/x"]) == 1 + is_patch


WORDS = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
PIECES = st.lists(
    st.sampled_from(
        [b"total_cents", b"thousands_removed", b"0x", b"12", b"\xc3\xa9", b" ", b"\n", b"(", b"parse_amount"]
    ),
    max_size=30,
).map(b"".join)


@given(
    st.lists(st.one_of(PIECES, st.sampled_from(FIXED.splitlines())), max_size=8),
    st.sampled_from([1, 40, 1 << 18]),
)
def test_files_of_base_take_out_together_what_each_takes_out_alone(texts: list[bytes], batch: int) -> None:
    answer = read_answer([("gold", GOLD_PATCH)])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(answers, "_BATCH", batch)
        novelty = Novelty(answer)
        for text in texts:
            novelty.see(text)
        rest = novelty.rest()
    lines = {line.strip() for text in texts for line in text.split(b"\n")}
    words = {word for text in texts for word in WORDS.findall(text)}
    grams = HashSet.of(*(grams_of(text) for text in texts)).values
    assert rest.lines == {"gold": answer.lines["gold"] - lines}
    assert rest.words == {"gold": answer.words["gold"] - words}
    left = [set(block.grams.values.tolist()) - set(grams.tolist()) for block in answer.blocks]
    assert [set(block.grams.values.tolist()) for block in rest.blocks] == [
        found for found in left if len(found) >= 12
    ]


def test_an_index_does_not_lose_a_leak(tmp_path, answer: Answer) -> None:
    files = [
        stored(tmp_path, f"lib{n}.py", b"def f%d(value):\n    return value + %d\n" % (n, n))
        for n in range(50)
    ]
    clean = build_index(files)
    assert not clean.hits(answer.line_hashes.values).files.size
    assert not clean.may_hold(answer)
    leak = stored(tmp_path, "leak.whl", zipped("a.py", FIXED))
    code = stored(tmp_path, "leak.pyc", compiled(FIXED))
    layout = stored(tmp_path, "layout.py", b" ".join(FIXED.replace(b"(", b" ( ").split()))
    index = build_index([*files, leak, code])
    index.save(tmp_path / "index")
    loaded = FileIndex.load(tmp_path / "index")
    assert loaded is not None
    assert set(loaded.hits(answer.line_hashes.values).files.tolist()) == {50, 51}
    assert build_index([*files, layout]).may_hold(answer)


def test_what_everybody_writes_is_no_leak_though_the_fix_writes_it_too(tmp_path) -> None:
    common = b"""\
def __init__(self, *args, **kwargs):
    super().__init__(*args, **kwargs)
    self.logger = logging.getLogger(__name__)
    parser = argparse.ArgumentParser(description=__doc__)
"""
    answer = read_answer([("gold", patch("src/tally/amounts.py", common + FIXED))])
    files = tuple(stored(tmp_path, f"lib{n}.py", common + b"X = %d\n" % n) for n in range(12))
    question = Question(answer)
    question.ask(FileGroup(files), build_index(files))
    left = question.answer()
    assert found(answer, "/opt/x/lib.py", common)
    assert not found(left, "/opt/x/lib.py", common)
    assert found(left, "/opt/x/lib.py", FIXED) == {"gold"}


def test_text_of_a_licence_is_no_leak() -> None:
    text = b"".join(b"Permission is granted to do thing number %d with it.\n" % n for n in range(20))
    answer = read_answer([("gold", patch("LICENSE.txt", text)), ("gold", GOLD_PATCH)])
    assert not found(answer, "/opt/x/lib-1.dist-info/LICENSE", text)


def test_a_view_that_was_not_read_gives_nothing(answer: Answer) -> None:
    assert examine(View("/x", None), answer) is None

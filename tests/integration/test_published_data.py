"""Real published rows and real patches of an agent: every one is read whole."""

import json
import os
from pathlib import Path

import pytest

from miner.sources.rows import Row, cut_ids, read_rows
from swequarry.git.patches import parse_patch

FOLDER = Path(os.environ.get("SWEQUARRY_DATA", "absent"))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="SWEQUARRY_DATA names no folder with rows_dev.jsonl and other real data"
    ),
]


def assert_whole(patch: bytes) -> None:
    files = parse_patch(patch)
    assert files
    assert b"".join(f.preamble + f.raw + f.epilogue for f in files) == patch


def test_every_row_is_valid_and_its_patches_are_read_whole() -> None:
    rows = list(read_rows(FOLDER / "rows_dev.jsonl"))
    assert rows
    for row in rows:
        assert isinstance(row, Row), row
        assert_whole(row.patch)
        assert_whole(row.test_patch)
        assert row.fail_to_pass
        listed = (*row.fail_to_pass, *(row.pass_to_pass or ()))
        assert ("published_ids_cut" in row.flags) == bool(cut_ids(listed)), row.instance_id


def test_patches_of_an_agent_are_read_whole() -> None:
    lines = (FOLDER / "agent_patches_dev.jsonl").read_text(encoding="utf-8").splitlines()
    patches = [json.loads(line)["patch"].encode() for line in lines]
    assert len(patches) > 100
    for patch in filter(None, patches):
        assert_whole(patch)

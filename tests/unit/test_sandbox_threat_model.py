"""The threat model names what defends: each test and file that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")


def test_no_defence_rests_on_a_test_that_is_gone() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    files = (ROOT / "tests").rglob("test_*.py")
    there = {
        name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > 40
    assert named - there == set()


def test_files_that_the_threat_model_names_are_there() -> None:
    for path in re.findall(r"`((?:swequarry|tests)/[\w/.*]+)`", PAGE):
        assert list(ROOT.glob(path)), path

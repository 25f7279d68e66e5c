import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swequarry.pipeline.item_log import item_log, log_path

LOGS = Path("logs")


@given(item=st.text(st.characters(), max_size=400))
def test_log_of_any_item_stays_in_its_folder_with_a_name_that_fits(item: str) -> None:
    path = log_path(LOGS, item)
    assert path.parent == LOGS
    assert path.name.isascii()
    assert len(path.name) <= 255
    assert path.name not in ("", ".", "..")


@given(one=st.text(max_size=300), two=st.text(max_size=300))
def test_two_items_never_share_a_log(one: str, two: str) -> None:
    assert (log_path(LOGS, one) == log_path(LOGS, two)) == (one == two)


@pytest.mark.parametrize("item", ["owner__repo-12", "a b", "x.y"])
def test_plain_items_can_be_found_by_name(item: str) -> None:
    assert log_path(LOGS, item).name == f"{item}.log"


def test_only_what_happens_during_the_item_is_in_its_log(tmp_path: Path) -> None:
    log = logging.getLogger("elsewhere.room")
    for item in ("../a", "b", "../a"):
        with item_log(tmp_path / "logs", item):
            log.warning("about %s \ud800", item)
        log.warning("between")
    text = log_path(tmp_path / "logs", "../a").read_text(encoding="utf-8")
    assert text.count("about ../a \\ud800") == 2
    assert "about b" not in text
    assert "between" not in text


def test_log_that_cannot_be_written_does_not_end_the_item(tmp_path: Path) -> None:
    (tmp_path / "a.log").symlink_to("/dev/full")
    with item_log(tmp_path, "a"):
        logging.getLogger("room").warning("lost")

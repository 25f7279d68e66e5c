"""What is noted of a watched test, apart from runs: see also the tests of the TestWriter's proof."""

from swequarry.verify.inside.effects import Noted


def test_event_that_cannot_be_judged_is_no_harmless_one(tmp_path):
    noted = Noted(["tests/test_a.py"], str(tmp_path))
    noted.hear("open", ())
    assert noted.seen == [["process", "open, which can't be read"]]
    assert not noted.busy


def test_event_that_nobody_looks_at_is_not_noted(tmp_path):
    noted = Noted(["tests/test_a.py"], str(tmp_path))
    noted.hear("compile", ())
    assert noted.seen == []

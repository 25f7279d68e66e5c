"""The options that benchmarks share: what they leave out is really left out."""

from benchmarks.options import line_settings, parser
from swequarry.config import parse_settings


def test_stages_that_are_left_out_are_off_in_the_settings() -> None:
    words = ["--mirror", "m", "--workspace", "w", "--without", "stability", "checks", "strength"]
    settings = parse_settings(line_settings(parser("").parse_args(words)))
    assert settings.stability.budget == "off"
    assert not settings.checks.enabled
    assert not settings.strength.enabled


def test_nothing_is_left_out_unasked() -> None:
    given = parser("").parse_args(["--mirror", "m", "--workspace", "w"])
    assert set(line_settings(given)) == {"workspace", "workers"}

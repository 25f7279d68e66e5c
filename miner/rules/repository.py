"""Rules about the repository of a candidate: how well it is kept, as far as that is known."""

from miner.rules.interface import Subject
from swequarry.config import CurateSettings
from swequarry.outcome import RejectCode, Rejected


def health(subject: Subject, settings: CurateSettings) -> Rejected | None:
    """Drop candidates of repositories without tests, CI, activity or stars; what is unknown drops nothing."""
    known, wanted = subject.health, settings.health
    lacks = (
        (wanted.tests and known.has_tests is False, "it has no tests at the base commit"),
        (wanted.ci and known.has_ci is False, "it has no CI configuration at the base commit"),
        (
            known.pulls_a_year is not None and known.pulls_a_year < wanted.pulls_a_year,
            f"{known.pulls_a_year} pull requests were merged in a year, fewer than {wanted.pulls_a_year}",
        ),
        (
            known.stars is not None and known.stars < wanted.stars,
            f"it has {known.stars} stars, fewer than {wanted.stars}",
        ),
    )
    found = tuple(message for holds, message in lacks if holds)
    if not found:
        return None
    return Rejected(code=RejectCode.REPOSITORY_HEALTH, message=found[0], evidence=found)

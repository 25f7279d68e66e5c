"""Days by which items are chosen."""

from datetime import datetime


def is_within(at: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """Whether a time lies between two bounds, both included; an unknown time only without bounds."""
    after = since is None or (at is not None and at >= since)
    return after and (until is None or (at is not None and at <= until))

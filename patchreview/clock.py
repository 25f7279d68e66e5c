"""How long a review may take."""

import time
from collections.abc import Callable


class OutOfTimeError(Exception):
    """The review's time is over; what was found so far counts."""


class Clock:
    """Ends a review at a deadline; rules reach it whenever they take the next piece of a patch."""

    def __init__(self, limit_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._end = now() + limit_s

    def check(self) -> None:
        """Go on.

        Raises:
            OutOfTimeError: the deadline has passed.
        """
        if self._now() > self._end:
            raise OutOfTimeError

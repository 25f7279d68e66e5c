"""Calls that outlive a server's absence: a restart of Postgres or of an object store costs time, not items.

What is wrapped runs again from its start, so it has to be one that may happen twice: the server can go away
after it stored a transaction and before it said so.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import stamina

from swequarry.errors import StorageLostError

PATIENCE_S = 120.0
"""How long a server may be away before the call fails."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 2.0

P = ParamSpec("P")
R = TypeVar("R")


def steady(call: Callable[P, R]) -> Callable[P, R]:
    """Call again while it raises StorageLostError, within `PATIENCE_S` seconds.

    Raises:
        StorageLostError: the server didn't come back.
    """
    again = stamina.retry(
        on=StorageLostError,
        attempts=None,
        timeout=PATIENCE_S,
        wait_initial=_FIRST_WAIT_S,
        wait_max=_LONGEST_WAIT_S,
    )
    return again(call)

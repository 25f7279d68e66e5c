"""What a run is waiting for, for its progress line."""

from collections.abc import Callable

from miner.mine import waits_of
from swequarry.config import Settings
from swequarry.pipeline.workspace import default_cache


def waits(settings: Settings) -> Callable[[], str | None]:
    """Return what says until when GitHub lets nobody ask; None where it does, or isn't asked at all.

    Raises:
        AuthenticationError: GitHub is to be asked, and there is no token.
        StorageError: what is remembered of it can't be read.
    """
    if settings.source.kind != "github":
        return lambda: None
    return waits_of(settings, (settings.cache or default_cache()).absolute())

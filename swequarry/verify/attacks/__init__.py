"""Known ways to pass a task without solving it, and honest ways to solve it, as patches for any task.

Each attack leaves the bug where it is. The code of the catalogue (R1 to R25) says which way it takes; None
from `make` says that the task offers nothing to take hold of. Twenty-eight were measured against other
graders; the rest takes ways that ours might have opened.
"""

from collections.abc import Iterator

from swequarry.verify.attacks.forgers import FORGERS
from swequarry.verify.attacks.honest import HONEST
from swequarry.verify.attacks.impostors import IMPOSTORS
from swequarry.verify.attacks.kinds import Attack
from swequarry.verify.attacks.oddities import ODDITIES
from swequarry.verify.attacks.planted import PLANTED
from swequarry.verify.attacks.pretenders import PRETENDERS
from swequarry.verify.attacks.takeovers import TAKEOVERS
from swequarry.verify.attacks.target import Target

__all__ = ["HONEST", "Attack", "Target", "attacks"]


def attacks() -> Iterator[Attack]:
    """Yield every attack, none of the honest controls."""
    yield from (*PLANTED, *ODDITIES, *FORGERS, *TAKEOVERS, *PRETENDERS, *IMPOSTORS)

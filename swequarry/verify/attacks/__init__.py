"""Known ways to pass a task without solving it, and honest ways to solve it, as patches for any task.

Each attack leaves the bug where it is. The code of the catalogue (R1 to R25) says which way it takes; None
from `make` says that the task offers nothing to take hold of. Twenty-eight were measured against other
graders; the rest takes ways that ours might have opened.

What can't be stopped in principle: code in the process of its tests can read them and report for them. It is
found because it can't know which of two tests is right. Where a test has no opposite that looks like it (it
asserts nothing, or our Python can't parse its file), code that knows this grader can tell its canary by the
`assert False` at its end. Nor is a table of answers found for a test whose inputs have no neighbours, or a
changed file of the package that a hidden test takes its expectations from.
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

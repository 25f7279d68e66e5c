"""What hidden tests demand and nobody wrote down, and what the policy made of it."""

from dataclasses import dataclass
from enum import StrEnum

from swequarry.records.base import Record


class DemandKind(StrEnum):
    """What a test demands: a name, a parameter of a function that base has, or the words of a message."""

    NAME = "name"
    PARAMETER = "parameter"
    MESSAGE = "message"


class InterfaceAction(StrEnum):
    """What became of a task's demands: there were none, or what the policy says of them was done."""

    NONE = "none"
    ADDED = "added"
    KEPT = "kept"
    DROPPED = "dropped"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand(Record):
    """One demand. `text` is the name, `function(parameter)` or the message; `signature` as the fix has it.

    `path` is where the fix defines it, empty where that isn't seen. `tests` are the functions that demand it,
    as `path::Class::function`.
    """

    kind: DemandKind
    text: str
    signature: str = ""
    path: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceRecord(Record):
    """The demands of a task's hidden tests and what was done about them; `dropped` are test functions."""

    policy: str
    action: InterfaceAction
    demands: tuple[Demand, ...] = ()
    dropped: tuple[str, ...] = ()

"""The one form that trajectories of every agent are read into."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Tool(StrEnum):
    """What an action is for. TALK runs nothing: a message, a thought, the end."""

    SHELL = "shell"
    PYTHON = "python"
    EDIT = "edit"
    BROWSE = "browse"
    TALK = "talk"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A file that a tool wrote, and what it wrote as far as the action shows it."""

    path: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One action of the solver and what came back.

    `proposed` is what the model asked for, `executed` what was run for it: a command, code, an address; empty
    where nothing ran (a malformed action, a message). `said` is the prose beside it. `number` counts actions
    from 1. `exit_code` and `cost_usd` (US dollars, of this step) are None where the file doesn't say.
    """

    number: int
    tool: Tool
    said: str = ""
    proposed: str = ""
    executed: str = ""
    edits: tuple[Edit, ...] = ()
    observation: str = ""
    exit_code: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One episode. `resolved` is what the file says of its grading; what isn't known is None or empty."""

    name: str
    format: str
    steps: tuple[Step, ...]
    instance_id: str = ""
    exit_status: str = ""
    submission: str = ""
    cost_usd: float | None = None
    resolved: bool | None = None

    @property
    def project(self) -> str:
        """The repository's name by the instance id `owner__name-number`, in lower case; empty if unknown."""
        owner, found, rest = self.instance_id.partition("__")
        name, dash, number = rest.rpartition("-")
        return name.lower().replace("_", "-") if owner and found and dash and number.isdigit() else ""

    @property
    def spoken(self) -> Iterator[str]:
        """What the solver said, step by step."""
        return (step.said for step in self.steps if step.said)

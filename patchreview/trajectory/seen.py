"""What a rule about trajectories is given and gives."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from patchreview.findings import Finding, Severity
from patchreview.interface import NO_GROUND, Ground
from patchreview.trajectory.commands import Command, commands_of
from patchreview.trajectory.form import Step, Tool, Trajectory

_SHOWN = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinding:
    """A finding about a step of a trajectory; `step` is None for the episode as a whole."""

    rule: str
    severity: Severity
    step: int | None
    message: str
    evidence: str = ""

    def at(self, name: str) -> Finding:
        """Return it as a finding about the file of this name."""
        said = self.message if self.step is None else f"step {self.step}: {self.message}"
        return Finding(
            rule=self.rule, severity=self.severity, path=name, message=said, evidence=self.evidence
        )

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON has them."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "step": self.step,
            "message": self.message,
            "evidence": self.evidence,
        }


class Episode:
    """One trajectory under review, with what the task's fix is where that's known."""

    def __init__(self, trajectory: Trajectory, ground: Ground = NO_GROUND) -> None:
        self.trajectory = trajectory
        self.ground = ground

    @cached_property
    def commands(self) -> tuple[tuple[Step, Command], ...]:
        """Every simple command that the solver had run or wanted to, with its step."""
        return tuple(
            (step, command)
            for step in self.trajectory.steps
            if step.tool in {Tool.SHELL, Tool.EDIT}
            for command in commands_of(step.executed or step.proposed)
        )


Look = Callable[[Episode], Iterable[StepFinding]]


def shown(text: str) -> str:
    """Return the beginning of a text in one line, as evidence."""
    line = " ".join(text[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def finding(rule: str, severity: Severity, step: Step, message: str, evidence: str) -> StepFinding:
    """Return a finding about a step."""
    return StepFinding(
        rule=rule, severity=severity, step=step.number, message=message, evidence=shown(evidence)
    )

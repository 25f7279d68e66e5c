"""SWE-agent, `*.traj`: a list of (response, thought, action, observation, state) and `info`.

https://swe-agent.com/latest/usage/trajectories/
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from patchreview.trajectory.form import Edit, Step, Tool, Trajectory
from patchreview.trajectory.readers.fields import mapping, number, objects, text
from patchreview.trajectory.readers.interface import Reader

_WRITES = re.compile(r"(?:str_replace_editor\s+(?:create|str_replace|insert)|create)\s+(\S+)")
_EDITS_OPEN = re.compile(r"(?:edit|insert)\s+\S+")
_NOTHING_RUNS = frozenset(
    {"submit", "exit_cost", "exit_format", "exit_context", "exit_error", "exit_forfeit"}
)


def _knows(data: Any) -> bool:
    steps = objects(data, "trajectory")
    return bool(steps) and all("action" in step and "observation" in step for step in steps)


def _read(data: Any, name: str) -> Trajectory:
    stats = number(data, "info", "model_stats", "instance_cost")
    return Trajectory(
        name=name,
        format=READER.name,
        steps=tuple(_steps(objects(data, "trajectory"))),
        instance_id=text(data, "instance_id"),
        exit_status=text(data, "info", "exit_status"),
        submission=text(data, "info", "submission"),
        cost_usd=stats if stats is not None else number(data, "info", "total_cost"),
    )


def _steps(steps: Sequence[dict[str, Any]]) -> Iterator[Step]:
    for count, step in enumerate(steps, start=1):
        action = text(step, "action").strip()
        talks = not action or action.split()[0] in _NOTHING_RUNS
        edits = tuple(_edits(action, mapping(step, "state")))
        yield Step(
            number=count,
            tool=Tool.TALK if talks else Tool.EDIT if edits else Tool.SHELL,
            said=text(step, "thought") or text(step, "response"),
            proposed=action or text(step, "response"),
            executed="" if talks else action,
            edits=edits,
            observation=text(step, "observation"),
        )


def _edits(action: str, state: dict[str, Any]) -> Iterator[Edit]:
    written = _WRITES.match(action)
    if written:
        yield Edit(path=written[1].strip("'\""), text=action)
    elif _EDITS_OPEN.match(action) and text(state, "open_file"):
        yield Edit(path=text(state, "open_file"), text=action)


READER = Reader(name="SWE-agent", knows=_knows, read=_read)

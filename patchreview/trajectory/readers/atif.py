"""Harbor's Agent Trajectory Interchange Format, ATIF 1.x: steps with tool calls, observations and metrics.

https://harborframework.com/docs/trajectory-format
"""

from collections.abc import Iterator
from typing import Any

from patchreview.trajectory.form import Step, Tool, Trajectory
from patchreview.trajectory.readers.fields import mapping, number, objects, text, whole
from patchreview.trajectory.readers.interface import Reader
from patchreview.trajectory.readers.tools import Action, action_of


def _knows(data: Any) -> bool:
    return text(data, "schema_version").startswith("ATIF-") and bool(objects(data, "steps"))


def _read(data: Any, name: str) -> Trajectory:
    return Trajectory(
        name=name,
        format=READER.name,
        steps=tuple(_numbered(_all_steps(data))),
        instance_id=text(data, "extra", "instance_id") or text(data, "extra", "task_id"),
        exit_status=text(data, "extra", "exit_status"),
        submission=text(data, "extra", "submission"),
        cost_usd=number(data, "final_metrics", "total_cost_usd"),
    )


def _all_steps(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the agent's steps, those of the agents that it sent out after its own."""
    waiting = [data]
    while waiting:
        found = waiting.pop(0)
        for step in objects(found, "steps"):
            if step.get("source") == "agent" and step.get("is_copied_context") is not True:
                yield step
        waiting += objects(found, "subagent_trajectories")


def _numbered(steps: Iterator[dict[str, Any]]) -> Iterator[Step]:
    count = 0
    for step in steps:
        calls, results = objects(step, "tool_calls"), objects(step, "observation", "results")
        said = "\n".join(filter(None, (text(step, "reasoning_content"), text(step, "message"))))
        for index, call in enumerate(calls or [{}]):
            count += 1
            name, given = text(call, "function_name"), mapping(call, "arguments")
            action = action_of(name, given) if call else Action(tool=Tool.TALK)
            answer = _result(results, text(call, "tool_call_id"), index, len(calls))
            yield Step(
                number=count,
                tool=action.tool,
                said=said if index == 0 else "",
                proposed=action.executed,
                executed=action.executed if answer else "",
                edits=action.edits if answer else (),
                observation=text(answer, "content"),
                exit_code=whole(answer, "extra", "exit_code"),
                cost_usd=number(step, "metrics", "cost_usd") if index == 0 else None,
            )


def _result(results: list[dict[str, Any]], call: str, index: int, calls: int) -> dict[str, Any]:
    named = next((one for one in results if call and one.get("source_call_id") == call), None)
    if named is not None:
        return named
    loose = [one for one in results if one.get("source_call_id") is None]
    if calls <= 1:
        return {"content": "\n".join(text(one, "content") for one in loose)} if loose else {}
    return loose[index] if index < len(loose) else {}


READER = Reader(name="ATIF", knows=_knows, read=_read)

"""OpenHands: its list of events, alone or as `history` of an evaluation's output.

The older events are dictionaries with `action` or `observation`, which name their action by `cause`; those of
the newer software kit have `kind` ActionEvent and ObservationEvent and `action_id`
(https://docs.openhands.dev).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from patchreview.trajectory.form import Step, Tool, Trajectory
from patchreview.trajectory.readers.fields import joined, mapping, number, text, truth, whole
from patchreview.trajectory.readers.interface import Reader
from patchreview.trajectory.readers.tools import Action, action_of

_SILENT = frozenset({"system", "recall", "change_agent_state", "null", "condensation"})
_TOOLS = {"run": "bash", "run_ipython": "python", "browse": "browse", "browse_interactive": "browse"}
_KINDS = frozenset(
    {"ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "AgentErrorEvent"}
)


def _events(data: Any) -> list[dict[str, Any]]:
    found = data.get("history") if isinstance(data, dict) else data
    if not isinstance(found, list):
        return []
    flat: list[Any] = []
    for one in found:
        flat += one if isinstance(one, list) else [one]  # older evaluations keep pairs
    return [one for one in flat if isinstance(one, dict)]


def _knows(data: Any) -> bool:
    events = _events(data)
    fields = [one for one in events if "action" in one or "observation" in one or text(one, "kind") in _KINDS]
    sourced = any("source" in one or "cause" in one or "args" in one for one in fields)
    return bool(fields) and sourced and 2 * len(fields) >= len(events)


def _read(data: Any, name: str) -> Trajectory:
    events, outer = _events(data), data if isinstance(data, dict) else {}
    spent = [found for one in events if (found := number(one, "llm_metrics", "accumulated_cost")) is not None]
    whole_cost = number(outer, "metrics", "accumulated_cost")
    resolved = truth(outer, "report", "resolved")
    return Trajectory(
        name=name,
        format=READER.name,
        steps=tuple(_steps(events)),
        instance_id=text(outer, "instance_id"),
        exit_status=text(outer, "error"),
        submission=text(outer, "test_result", "git_patch") or text(outer, "git_patch"),
        cost_usd=whole_cost if whole_cost is not None else max(spent, default=None),
        resolved=resolved if resolved is not None else truth(outer, "test_result", "report", "resolved"),
    )


def _steps(events: Sequence[dict[str, Any]]) -> Iterator[Step]:
    answers = {_cause(one): one for one in events if _is_answer(one) and _cause(one) is not None}
    count, before = 0, 0.0
    for place, event in enumerate(events):
        if not _is_action(event):
            continue
        count += 1
        after = events[place + 1] if place + 1 < len(events) else {}
        loose = after if _is_answer(after) and _cause(after) is None else {}
        answer = answers.get(_id(event), loose)
        spent = number(event, "llm_metrics", "accumulated_cost")
        action = _action(event)
        yield Step(
            number=count,
            tool=action.tool,
            said=_said(event),
            proposed=text(event, "tool_call", "arguments") or action.executed,
            executed=(text(answer, "extras", "command") or action.executed) if answer else "",
            edits=action.edits if answer else (),
            observation=text(answer, "content") or text(answer, "observation", "content"),
            exit_code=_exit_code(answer),
            cost_usd=None if spent is None else max(0.0, spent - before),
        )
        before = spent if spent is not None else before


def _is_action(event: dict[str, Any]) -> bool:
    if text(event, "kind") in _KINDS:
        says = event.get("kind") == "MessageEvent" and event.get("source") == "agent"
        return event.get("kind") == "ActionEvent" or says
    name = event.get("action")
    return isinstance(name, str) and name not in _SILENT and event.get("source", "agent") == "agent"


def _is_answer(event: dict[str, Any]) -> bool:
    return text(event, "kind") in {"ObservationEvent", "AgentErrorEvent"} or (
        "observation" in event and "action" not in event and "kind" not in event
    )


def _id(event: dict[str, Any]) -> str:
    return str(event.get("id"))


def _cause(event: dict[str, Any]) -> str | None:
    cause = event.get("action_id", event.get("cause"))
    return None if cause is None else str(cause)


def _action(event: dict[str, Any]) -> Action:
    if event.get("kind") == "MessageEvent":
        return Action(tool=Tool.TALK)
    if event.get("kind") == "ActionEvent":
        given = mapping(event, "action") or mapping(event, "tool_call", "arguments")
        return action_of(text(event, "tool_name"), {k: v for k, v in given.items() if k != "kind"})
    name, given = str(event.get("action")), mapping(event, "args")
    return action_of(_TOOLS.get(name, name), given)


def _said(event: dict[str, Any]) -> str:
    parts = (
        joined(event.get("thought")),
        text(event, "args", "thought"),
        text(event, "llm_message", "content"),
    )
    finish = text(event, "args", "final_thought") or text(event, "action", "message")
    spoken = text(event, "args", "content") if event.get("action") == "message" else ""
    return "\n".join(part for part in (*parts, finish, spoken) if part)


def _exit_code(answer: dict[str, Any]) -> int | None:
    for names in (("extras", "metadata", "exit_code"), ("extras", "exit_code"), ("observation", "exit_code")):
        found = whole(answer, *names)
        if found is not None:
            return found
    return None


READER = Reader(name="OpenHands", knows=_knows, read=_read)

"""mini-swe-agent, `*.traj.json` of format `mini-swe-agent-1` (version 1) and `-1.1` (version 2).

Version 2 keeps what was run in `extra.actions` of the model's message and one message for each output;
version 1 has one fenced command in the text and the output in the next message
(https://mini-swe-agent.com/latest/usage/output_files/).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from patchreview.trajectory.form import Step, Tool, Trajectory
from patchreview.trajectory.readers.fields import mapping, number, objects, text, whole
from patchreview.trajectory.readers.interface import Reader

_FENCED = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_CODE = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
_NOT_RUN = "action was not executed"


def _knows(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        return False
    named = text(data, "trajectory_format").startswith("mini-swe-agent")
    return named or "mini_version" in mapping(data, "info")


def _read(data: Any, name: str) -> Trajectory:
    return Trajectory(
        name=name,
        format=READER.name,
        steps=tuple(_steps(objects(data, "messages"))),
        instance_id=text(data, "instance_id"),
        exit_status=text(data, "info", "exit_status"),
        submission=text(data, "info", "submission"),
        cost_usd=number(data, "info", "model_stats", "instance_cost"),
    )


def _steps(messages: Sequence[dict[str, Any]]) -> Iterator[Step]:
    count = 0
    for place, message in enumerate(messages):
        if message.get("role") != "assistant" and message.get("object") != "response":
            continue
        answers = list(_answers(messages[place + 1 :]))
        said, cost = _said(message), number(message, "extra", "cost")
        proposed = _FENCED.findall(said)
        ran = [text(action, "command") for action in objects(message, "extra", "actions")]
        recorded = isinstance(mapping(message, "extra").get("actions"), list)
        if not recorded:
            ran = [command.strip() for command in proposed] if len(proposed) == 1 else []
        for index, command in enumerate(ran or [""]):
            count += 1
            answer = answers[index] if index < len(answers) else {}
            done = command if answer and text(answer, "extra", "exception_info") != _NOT_RUN else ""
            yield Step(
                number=count,
                tool=Tool.SHELL if command else Tool.TALK,
                said=said if index == 0 else "",
                proposed=command or "\n".join(proposed),
                executed=done,
                observation=text(answer, "extra", "raw_output") or text(answer, "content"),
                exit_code=_exit_code(answer),
                cost_usd=cost if index == 0 else None,
            )


def _said(message: dict[str, Any]) -> str:
    return text(message, "content") or "\n".join(text(one, "content") for one in objects(message, "output"))


def _answers(later: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in later:
        if message.get("role") == "assistant" or message.get("object") == "response":
            return
        yield message


def _exit_code(answer: dict[str, Any]) -> int | None:
    known = whole(answer, "extra", "returncode")
    found = _CODE.search(text(answer, "content")) if known is None else None
    return int(found[1]) if found else known


READER = Reader(name="mini-swe-agent", knows=_knows, read=_read)

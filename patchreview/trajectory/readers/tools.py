"""Tool calls of any agent, told apart by what they are given: names differ, arguments hardly do."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from patchreview.trajectory.form import Edit, Tool
from patchreview.trajectory.readers.fields import joined

_PATHS = ("path", "file_path", "filename", "target_file", "notebook_path")
_WRITTEN = ("file_text", "content", "new_str", "new_string", "new_source", "insert_text", "patch")
_COMMANDS = ("command", "cmd", "commands", "keystrokes", "bash_command", "input")
_EDITOR = frozenset({"create", "str_replace", "insert", "undo_edit", "write", "append"})
_LOOKING = frozenset({"view", "read"})
_TALK = frozenset({"finish", "submit", "think", "message", "final_answer", "attempt_completion", "exit"})
_PYTHON = ("code", "python_code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a tool call does."""

    tool: Tool
    executed: str = ""
    edits: tuple[Edit, ...] = ()


def action_of(name: str, arguments: Mapping[str, Any]) -> Action:
    """Return what a call of a tool does, by the tool's name and arguments."""
    path = _first(arguments, _PATHS)
    command = _first(arguments, _COMMANDS)
    if name.lower() in _TALK:
        return Action(tool=Tool.TALK)
    if path and command in _LOOKING:
        return Action(tool=Tool.OTHER, executed=f"view {path}")
    written = "\n".join(joined(arguments.get(key)) for key in _WRITTEN if arguments.get(key))
    if path and (command in _EDITOR or written):
        return Action(tool=Tool.EDIT, executed=f"edit {path}", edits=(Edit(path=path, text=written),))
    for tool, names in ((Tool.BROWSE, ("url",)), (Tool.SHELL, _COMMANDS), (Tool.PYTHON, _PYTHON)):
        given = _first(arguments, names)
        if given:
            return Action(tool=tool, executed=given)
    said = f"{name} {path or json.dumps(dict(arguments), sort_keys=True, default=str)}"
    return Action(tool=Tool.OTHER, executed=said.strip())


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        found = arguments.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found and all(isinstance(word, str) for word in found):
            return " ".join(found)
    return ""

"""Trajectories of four agents in one form: what was proposed, what ran, what came back, what it cost."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchreview.trajectory.files import read_trajectories
from patchreview.trajectory.form import Tool
from patchreview.trajectory.readers import all_readers
from patchreview.trajectory.readers.tools import action_of
from swequarry.errors import InputError

MINI_2 = {
    "info": {
        "model_stats": {"instance_cost": 0.3, "api_calls": 3},
        "mini_version": "2.4.6",
        "exit_status": "Submitted",
        "submission": "diff --git a/a.py b/a.py\n",
    },
    "messages": [
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "content": "Fix it."},
        {
            "role": "assistant",
            "content": "I look first.",
            "extra": {
                "cost": 0.1,
                "actions": [
                    {"command": "ls", "tool_call_id": "1"},
                    {"command": "cat a.py", "tool_call_id": "2"},
                ],
            },
        },
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": "a.py",
            "extra": {"raw_output": "a.py\n", "returncode": 0},
        },
        {
            "role": "tool",
            "tool_call_id": "2",
            "content": "",
            "extra": {"raw_output": "", "returncode": -1, "exception_info": "action was not executed"},
        },
        {"role": "assistant", "content": "No action here.", "extra": {"cost": 0.2, "actions": []}},
        {"role": "user", "content": "Please give one action."},
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ],
    "trajectory_format": "mini-swe-agent-1.1",
}
MINI_1 = {
    "info": {"model_stats": {"instance_cost": 0.1}, "exit_status": "Submitted", "submission": "x"},
    "messages": [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls -la\n```"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>\nno such\n</output>"},
        {"role": "assistant", "content": "```bash\nls\n```\n```bash\nrm x\n```"},
        {"role": "user", "content": "Please give exactly one action."},
    ],
    "trajectory_format": "mini-swe-agent-1",
}
SWE_AGENT = {
    "environment": "main",
    "trajectory": [
        {
            "action": "ls -F\n",
            "observation": "a.py",
            "thought": "look",
            "response": "look ```ls -F```",
            "state": {},
        },
        {
            "action": "edit 1:1\nx = 2\nend_of_edit",
            "observation": "[File updated]",
            "response": "edit",
            "state": '{"open_file": "/repo/a.py", "working_dir": "/repo"}',
        },
        {"action": "submit", "observation": "", "response": "done", "state": "{}"},
    ],
    "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {"instance_cost": 1.5}},
}
OPENHANDS = {
    "instance_id": "acme__widgets-7",
    "history": [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Fix it."}},
        {
            "id": 1,
            "source": "agent",
            "action": "run",
            "args": {"command": "ls", "thought": "look"},
            "llm_metrics": {"accumulated_cost": 0.1},
        },
        {
            "id": 2,
            "source": "agent",
            "cause": 1,
            "observation": "run",
            "content": "a.py",
            "extras": {"command": "ls", "metadata": {"exit_code": 0}},
        },
        {
            "id": 3,
            "source": "agent",
            "action": "edit",
            "args": {"path": "/w/a.py", "command": "str_replace", "old_str": "1", "new_str": "x = 2"},
            "llm_metrics": {"accumulated_cost": 0.4},
        },
        {"id": 4, "source": "agent", "cause": 3, "observation": "edit", "content": "edited", "extras": {}},
        {"id": 5, "source": "agent", "action": "finish", "args": {"final_thought": "All tests pass."}},
    ],
    "metrics": {"accumulated_cost": 0.5},
    "test_result": {"git_patch": "diff --git a/a.py b/a.py\n"},
    "report": {"resolved": False},
}
KIT = [
    {"id": "a", "kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": []}},
    {
        "id": "b",
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"type": "text", "text": "look"}],
        "tool_name": "terminal",
        "action": {"kind": "TerminalAction", "command": "ls"},
        "tool_call": {"arguments": '{"command": "ls"}'},
    },
    {
        "id": "c",
        "kind": "ObservationEvent",
        "source": "environment",
        "action_id": "b",
        "observation": {"content": [{"type": "text", "text": "a.py"}], "exit_code": 0},
    },
]
ATIF = {
    "schema_version": "ATIF-v1.8",
    "agent": {"name": "x", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Fix it."},
        {
            "step_id": 2,
            "source": "agent",
            "message": [{"type": "text", "text": "look"}],
            "tool_calls": [
                {"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "ls"}},
                {
                    "tool_call_id": "2",
                    "function_name": "edit",
                    "arguments": {"file_path": "a.py", "new_string": "y"},
                },
            ],
            "observation": {"results": [{"source_call_id": "1", "content": "a.py"}]},
            "metrics": {"cost_usd": 0.2},
        },
        {"step_id": 3, "source": "agent", "message": "done", "is_copied_context": True},
    ],
    "final_metrics": {"total_cost_usd": 0.2},
    "extra": {"instance_id": "acme__widgets-7"},
}


def read(tmp_path: Path, data: object, name: str = "acme__widgets-7.traj.json"):
    (tmp_path / name).write_text(json.dumps(data))
    (found,) = read_trajectories(tmp_path / name).trajectories
    return found


@pytest.mark.parametrize(
    ("data", "format_"),
    [
        (MINI_1, "mini-swe-agent"),
        (MINI_2, "mini-swe-agent"),
        (SWE_AGENT, "SWE-agent"),
        (OPENHANDS, "OpenHands"),
        (OPENHANDS["history"], "OpenHands"),
        (KIT, "OpenHands"),
        (ATIF, "ATIF"),
    ],
)
def test_one_reader_and_no_other_knows_a_format(data, format_):
    assert [reader.name for reader in all_readers() if reader.knows(data)] == [format_]


def test_what_was_not_executed_is_proposed_and_did_not_run(tmp_path):
    found = read(tmp_path, MINI_2)
    assert [(step.proposed, step.executed, step.observation, step.exit_code) for step in found.steps] == [
        ("ls", "ls", "a.py\n", 0),
        ("cat a.py", "", "", -1),
        ("", "", "Please give one action.", None),
    ]
    assert [step.cost_usd for step in found.steps] == [0.1, None, 0.2]
    assert (found.cost_usd, found.exit_status, found.instance_id) == (0.3, "Submitted", "acme__widgets-7")
    assert found.project == "widgets"


def test_two_commands_where_one_is_allowed_ran_neither(tmp_path):
    first, second = read(tmp_path, MINI_1).steps
    assert (first.executed, first.exit_code) == ("ls -la", 2)
    assert second.executed == ""
    assert second.proposed == "ls\nrm x"


def test_edit_of_the_open_file_names_it(tmp_path):
    found = read(tmp_path, SWE_AGENT, "acme__widgets-7.traj")
    assert [step.tool for step in found.steps] == [Tool.SHELL, Tool.EDIT, Tool.TALK]
    assert found.steps[1].edits[0].path == "/repo/a.py"
    assert found.cost_usd == 1.5


def test_observation_belongs_to_the_action_that_caused_it(tmp_path):
    found = read(tmp_path, OPENHANDS)
    run, edit, finish = found.steps
    assert (run.executed, run.observation, run.exit_code, run.said) == ("ls", "a.py", 0, "look")
    assert edit.edits[0].path == "/w/a.py"
    assert edit.edits[0].text == "x = 2"
    assert edit.cost_usd == pytest.approx(0.3)
    assert (finish.tool, finish.said) == (Tool.TALK, "All tests pass.")
    assert (found.cost_usd, found.resolved) == (0.5, False)


def test_events_of_the_newer_kit_are_paired_by_id(tmp_path):
    (step,) = read(tmp_path, KIT, "x.json").steps
    assert (step.executed, step.observation, step.exit_code, step.said) == ("ls", "a.py", 0, "look")


def test_call_without_a_result_did_not_run_and_copied_steps_do_not_count(tmp_path):
    found = read(tmp_path, ATIF, "trajectory.json")
    assert [(step.executed, step.proposed) for step in found.steps] == [("ls", "ls"), ("", "edit a.py")]
    assert found.steps[1].edits == ()
    assert found.cost_usd == 0.2


def test_json_lines_are_several_trajectories_or_the_events_of_one(tmp_path):
    outputs = tmp_path / "output.jsonl"
    outputs.write_text("\n".join(json.dumps({**OPENHANDS, "instance_id": f"a__b-{n}"}) for n in (1, 2)))
    assert [one.instance_id for one in read_trajectories(outputs).trajectories] == ["a__b-1", "a__b-2"]
    events = tmp_path / "events.jsonl"
    events.write_text("\n".join(json.dumps(event) for event in KIT))
    assert len(read_trajectories(events).trajectories) == 1


def test_file_that_is_no_trajectory_is_named_and_not_skipped_in_silence(tmp_path):
    (tmp_path / "good.json").write_text(json.dumps(ATIF))
    (tmp_path / "preds.json").write_text('{"a": 1}')
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n{"a":')
    found = read_trajectories(tmp_path)
    assert [one.name for one in found.trajectories] == ["good.json"]
    assert [name for name, _ in found.others] == ["broken.jsonl", "preds.json"]
    with pytest.raises(InputError, match="no trajectory"):
        read_trajectories(tmp_path / "preds.json")


def test_argument_names_of_different_agents_mean_the_same():
    assert action_of("execute_bash", {"command": "ls"}).tool is Tool.SHELL
    assert action_of("shell", {"cmd": ["bash", "-lc", "ls"]}).executed == "bash -lc ls"
    assert action_of("str_replace_editor", {"command": "view", "path": "a"}).tool is Tool.OTHER
    assert (
        action_of("str_replace_editor", {"command": "create", "path": "a", "file_text": ""}).edits[0].path
        == "a"
    )
    assert action_of("web_fetch", {"url": "https://x"}).tool is Tool.BROWSE
    assert action_of("ipython", {"code": "1"}).tool is Tool.PYTHON
    assert action_of("finish", {"message": "ok"}).tool is Tool.TALK


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    "messages",
    "role",
    "content",
    "extra",
    "actions",
    "command",
    "trajectory",
    "action",
    "observation",
    "state",
    "info",
    "history",
    "args",
    "kind",
    "cause",
    "steps",
    "tool_calls",
    "arguments",
    "source",
    "message",
    "results",
    "metrics",
    "llm_metrics",
    "extras",
    "thought",
    "query",
]


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8), st.lists(JSON, max_size=3))
def test_no_content_of_the_fields_breaks_a_reader(entry, listed):
    shapes = {
        "mini-swe-agent": {"messages": [{"role": "assistant", **entry}, entry], "trajectory_format": "mini-swe-agent-1", "info": entry},
        "SWE-agent": {"trajectory": [{"action": "", "observation": "", **entry}], **{k: v for k, v in entry.items() if k != "trajectory"}},
        "OpenHands": {"history": [{"action": "run", "source": "agent", "id": 1, **entry}, {"observation": "run", "cause": 1, **entry}, {"kind": "ActionEvent", **entry}, *listed]},
        "ATIF": {"schema_version": "ATIF-v1.0", "steps": [{"source": "agent", **entry}, entry], **{k: v for k, v in entry.items() if k != "steps"}},
    }  # fmt: skip
    for reader in all_readers():
        data = shapes[reader.name]
        reader.knows(data)
        reader.read(data, "x")
        for other in all_readers():
            other.knows(entry)
            other.knows(listed)

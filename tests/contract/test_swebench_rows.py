"""The real swebench and datasets packages read what we write."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_factory import Blobs, make_task

from swequarry.config import ExportSettings
from swequarry.export.columns import RowForm
from swequarry.export.parsers import PYTEST_PARSER, UNITTEST_PARSER, drop_reason
from swequarry.export.reader import read_rows
from swequarry.export.swebench import SwebenchExporter
from swequarry.records import TestId

log_parsers = pytest.importorskip(
    "swebench.harness.log_parsers", reason="swebench isn't installed (dev dependency)"
)
from swebench.harness.constants import END_TEST_OUTPUT, START_TEST_OUTPUT  # noqa: E402
from swebench.harness.grading import get_eval_report  # noqa: E402
from swebench.harness.utils import load_swebench_dataset, make_test_spec  # noqa: E402

NAMED = (
    "tests/test_a.py::test_one[a b]",
    "tests/test_a.py::T::test_two[é-'\"]",
    "tests/test_a.py::test_dropped[a - b]",
)


def parsed(log, parser=PYTEST_PARSER):
    return log_parsers.PARSER_REGISTRY[parser](log, None)


def survives_for_real(test):
    lines = {
        "PASSED": f"PASSED {test}\n",
        "FAILED": f"FAILED {test} - AssertionError: no\n",
    }
    return all(parsed(line) == {test: status} for status, line in lines.items())


parametrised = st.builds(
    "tests/test_a.py::test_x[{}]".format,
    st.text(
        st.one_of(
            st.sampled_from(" -[]m0123\t\n\x1b\u2028\xa0\x85"), st.characters(exclude_categories=["Cs"])
        ),
        max_size=12,
    ),
)


@given(st.one_of(parametrised, st.text(st.characters(exclude_categories=["Cs"]), max_size=12)))
def test_our_reading_of_the_parser_agrees_with_the_parser(test):
    assert (drop_reason(TestId(test)) is None) == survives_for_real(test)


def survives_unittest_for_real(test):
    lines = {
        "PASSED": f"\n{test} ... ok\n",
        "FAILED": f"\n{test} ... FAIL\n",
        "ERROR": f"\n{test} ... ERROR\n",
        "SKIPPED": f"\n{test} ... skipped 'why'\n",
    }
    return all(parsed(line, UNITTEST_PARSER) == {test: status} for status, line in lines.items())


odd_methods = st.builds(
    "{}{} (a.test_b.T)".format,
    st.sampled_from(["test_x", "test_x_1_", "ok", "ok_", "FAIL: ", "ERROR: x ", " ", "Applying sites.0002_"]),
    st.text(
        st.one_of(st.sampled_from(" .-[]okFAIL\t\u2028\xa0\x85"), st.characters(exclude_categories=["Cs"]))
    ),
)


@given(st.one_of(odd_methods, st.text(st.characters(exclude_categories=["Cs"]), max_size=12)))
def test_no_id_is_kept_that_the_unittest_parser_changes(test):
    kept = drop_reason(TestId(test), parser=UNITTEST_PARSER) is None
    assert survives_unittest_for_real(test) or not kept


@pytest.mark.parametrize(
    "test",
    ["test_x (a.b.T)", "runTest (T)", "test_x_0_a_b (a.T.<locals>.U)", "func (pkg.mod)", "test_é (a.T)"],
)
def test_ordinary_ids_of_unittest_come_back_whole(test):
    assert survives_unittest_for_real(test)
    assert drop_reason(TestId(test), parser=UNITTEST_PARSER) is None


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    blobs = Blobs()
    tasks = [
        make_task(
            blobs,
            number=n,
            fail_to_pass=NAMED,
            pass_to_pass=() if n == 1 else ("tests/test_a.py::test_p",),
            statement="U+2028 \u2028, NEL \x85",
        )
        for n in (1, 2)
    ]
    folder = tmp_path_factory.mktemp("dataset") / "d"
    SwebenchExporter().write(tasks, blobs.get_blob, folder, ExportSettings())
    return folder


@pytest.mark.parametrize("form", list(RowForm))
def test_swebench_reads_jsonl_rows_and_makes_specs(dataset, form):
    rows = load_swebench_dataset(str(dataset / "data" / f"{form.value}.jsonl"))
    ours = read_rows(dataset / "data" / f"{form.value}.jsonl")
    for row, our in zip(rows, ours, strict=True):
        spec = make_test_spec(row)
        assert tuple(spec.FAIL_TO_PASS) == our.fail_to_pass == NAMED[:2]
        assert tuple(spec.PASS_TO_PASS) == our.pass_to_pass
        assert spec.log_parser in log_parsers.PARSER_REGISTRY
        assert spec.eval_script.startswith("#!/bin/bash\nset -uxo pipefail\nexec 2>&1\n")
        assert [(d.id, d.reason.value) for d in our.dropped_tests] == [(NAMED[2], "cut_at_dash")]


def test_swebench_records_exit_code_of_the_tests_and_of_nothing_else(dataset):
    (row, _) = load_swebench_dataset(str(dataset / "data/lists.jsonl"))
    lines = make_test_spec(row).eval_script_list
    at = next(i for i, line in enumerate(lines) if END_TEST_OUTPUT in line)
    assert lines[at - 1] == "SWEBENCH_TEST_EXIT_CODE=$?"
    assert lines[at - 2].startswith("python -m pytest")
    assert START_TEST_OUTPUT in lines[at - 3]


def grade(dataset, tmp_path, body):
    (row, _) = load_swebench_dataset(str(dataset / "data/strings.jsonl"))
    log = tmp_path / "log"
    log.write_text(f"+ : '{START_TEST_OUTPUT}'\n{body}+ : '{END_TEST_OUTPUT}'\n>>>>> Test Exit Code: 0\n")
    prediction = {"instance_id": row["instance_id"], "model_patch": "x", "model_name_or_path": "m"}
    return get_eval_report(make_test_spec(row), prediction, str(log), include_tests_status=False)[
        row["instance_id"]
    ]["resolved"]


def test_swebench_grades_a_log_of_our_ids(dataset, tmp_path):
    passed = "".join(f"PASSED {test}\n" for test in NAMED)
    assert grade(dataset, tmp_path, passed)
    assert not grade(dataset, tmp_path, passed.replace("PASSED", "FAILED", 1))


LOAD = """
import json, sys, datasets
out = {}
for config in ("lists", "strings"):
    table = datasets.load_dataset(sys.argv[1], config, split="test")
    out[config] = {"rows": table.num_rows, "f2p": table[0]["FAIL_TO_PASS"], "p2p": table[0]["PASS_TO_PASS"], "type": str(table.features["PASS_TO_PASS"])}
out["default"] = datasets.load_dataset(sys.argv[1], split="test")[0]["FAIL_TO_PASS"]
print(json.dumps(out))
"""


def load_offline(folder, cache):
    env = {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder)], capture_output=True, text=True, check=False, env=env
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_datasets_reads_both_configs_from_the_card_offline(dataset, tmp_path):
    pytest.importorskip("datasets", reason="datasets isn't installed (dev dependency)")
    out = load_offline(dataset, tmp_path)
    assert out["lists"]["f2p"] == out["default"] == list(NAMED[:2])
    assert json.loads(out["strings"]["f2p"]) == list(NAMED[:2])
    assert out["lists"]["p2p"] == []
    assert out["strings"]["p2p"] == "[]"
    assert out["lists"]["rows"] == out["strings"]["rows"] == 2
    assert "null" not in out["lists"]["type"]

"""The commands `decontam` and `fingerprint`."""

import json

import pytest
from test_decontam_decisions import FIX, OTHER, STATEMENT, row
from typer.testing import CliRunner

from swequarry.cli.app import app

RUN = CliRunner()


@pytest.fixture
def files(tmp_path):
    benchmark, mine = tmp_path / "bench.jsonl", tmp_path / "mine.jsonl"
    benchmark.write_text(json.dumps(row(1, STATEMENT, FIX)) + "\n")
    rows = [row(7, "The map is wrong.", OTHER, repo="me/map"), row(8, "Else.", FIX, repo="me/map")]
    mine.write_text("\n".join([json.dumps(rows[0]), "broken", json.dumps(rows[1])]))
    return benchmark, mine


def test_removals_name_item_and_span_and_the_rest_is_kept_byte_for_byte(files, tmp_path):
    benchmark, mine = files
    kept, report = tmp_path / "kept.jsonl", tmp_path / "report.jsonl"
    order = ["decontam", str(mine), "--against", str(benchmark), "--keep", str(kept), "--report", str(report)]
    done = RUN.invoke(app, order, standalone_mode=False)
    assert done.return_value == 1, done.output
    assert "remove\tme__map-8\tmakes the same change as bench__shop-1 (bench)" in done.output
    assert kept.read_text().splitlines() == mine.read_text().splitlines()[:2]
    told = [json.loads(line) for line in report.read_text().splitlines()]
    assert [one["action"] for one in told] == ["keep", "keep", "remove"]
    assert "JSON" in told[1]["problem"]


def test_fingerprints_answer_as_the_rows_do(files, tmp_path):
    benchmark, mine = files
    prints = tmp_path / "bench.npz"
    assert (
        RUN.invoke(
            app, ["fingerprint", str(benchmark), "-o", str(prints)], standalone_mode=False
        ).return_value
        == 0
    )
    answers = [
        RUN.invoke(app, ["decontam", str(mine), "--against", str(path)], standalone_mode=False)
        for path in (benchmark, prints)
    ]
    assert answers[0].output == answers[1].output
    assert answers[1].return_value == 1


def test_nothing_to_compare_with_is_said(files):
    done = RUN.invoke(app, ["decontam", str(files[1])], standalone_mode=False)
    assert "give --against" in str(done.exception)


def test_rows_twice_in_a_file_are_told_without_a_benchmark(files, tmp_path):
    path = tmp_path / "twice.jsonl"
    text = json.dumps(row(1, STATEMENT, FIX)) + "\n" + json.dumps(row(2, STATEMENT, FIX)) + "\n"
    path.write_text(text)
    done = RUN.invoke(app, ["decontam", str(path), "--duplicates", "--json"], standalone_mode=False)
    assert (done.return_value, json.loads(done.output)["remove"]) == (1, 1)

"""What is said of a task's stability and strength, in the report and by `show`."""

from dataclasses import replace

from task_factory import Blobs, make_task, with_measurements

from swequarry.cli.measured_text import measured_lines
from swequarry.errors import StorageError
from swequarry.records import GoldCoverage, Stability, Strength
from swequarry.report.measured import (
    median_strength,
    say_scope,
    say_stability,
    say_strength,
    weakest_first,
)


def test_task_that_was_not_measured_isnt_called_strong_or_stable():
    task = make_task(Blobs())
    assert measured_lines(task, Blobs().get_blob) == ["stability: not measured", "strength: not measured"]
    assert median_strength([task]) is None
    assert say_strength(Strength(wrong_fixes=())).startswith("0 of 0 wrong fixes rejected (unknown)")


def test_what_was_left_undone_is_said():
    cut = Stability(runs=4, complete=False)
    assert say_stability(cut) == "no unstable test in 4 perturbed runs; not everything was tried"
    measured = with_measurements(make_task(Blobs()), Blobs())
    assert "1 not tried for want of time" in say_strength(measured.strength)
    partly = replace(measured.strength, coverage=GoldCoverage(lines=4, covered_lines=2, whole=False))
    assert "at least 2 of 4 changed lines run" in say_strength(partly)
    wide = replace(measured.verification, scope="full", left_out_files=3)
    assert say_scope(wide) == "full, 1 test file, 3 more left out for want of time"


def test_survivor_is_shown_as_a_patch_and_a_lost_one_doesnt_hide_the_rest():
    blobs = Blobs()
    task = with_measurements(make_task(blobs), blobs, survivors=2)
    lines = measured_lines(task, blobs.get_blob)
    assert "stability: 1 unstable (time 1) in 8 perturbed runs" in lines
    assert (
        "  tests/test_a.py::test_bomb (after): time, passed 2 of 4; none: passed; year_ahead: failed failed; several: passed"
        in lines
    )
    assert sum(line.startswith("  passes: mutant constant at src/") for line in lines) == 2
    assert "    +x = 2" in lines

    def gone(_key):
        raise StorageError("blob gone")

    assert sum(line == "    blob gone" for line in measured_lines(task, gone)) == 2


def test_weakest_task_comes_first_and_an_unknown_one_last():
    blobs = Blobs()
    tasks = [make_task(blobs, number=number) for number in (1, 2, 3)]
    weak, strong = (
        with_measurements(tasks[1], blobs, survivors=3),
        with_measurements(tasks[2], blobs, survivors=0),
    )
    assert weakest_first([tasks[0], strong, weak]) == [weak, strong, tasks[0]]
    assert median_strength([weak, strong]) == 0.7

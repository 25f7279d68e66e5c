"""What the search for unstable tests makes of a verification, and of the candidate."""

import json

from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.pipeline.stages.stability import judge, known_of
from swequarry.pipeline.stages.verified import VerifiedInput
from swequarry.records import (
    Perturbation,
    QuarantinedTest,
    Stability,
    State,
    TestId,
    TestOutcome,
    TestStability,
    UnstableReason,
    Verification,
)
from swequarry.verify.stability_measure import known_runs, without_unstable

PASSED, FAILED = TestOutcome.PASSED, TestOutcome.FAILED
P, R = Perturbation, UnstableReason
BOMB, SOUND, KEPT, DICE = (TestId(f"t.py::test_{name}") for name in ("bomb", "sound", "kept", "dice"))
MATRIX = {
    "version": 1,
    "tests": {
        BOMB: {"before": ["failed"] * 3, "after": ["passed"] * 3},
        SOUND: {"before": ["missing"] * 3, "after": ["passed"] * 3},
        KEPT: {"before": ["passed"] * 3, "after": ["passed"] * 3},
        DICE: {"before": ["passed", "failed", "passed"], "after": ["passed", "failed", "passed"]},
        "t.py::test_never": {"before": ["failed"], "after": ["failed"]},
    },
}


def verification(*turning: TestId, aside: tuple[TestId, ...] = (DICE,)) -> Verification:
    return Verification(
        backend="fake",
        scope="touched",
        test_command=("pytest",),
        test_files=("t.py",),
        runs_before=3,
        runs_after=3,
        fail_to_pass=turning,
        pass_to_pass=(KEPT,),
        quarantined=tuple(QuarantinedTest(id=test, reason="flaky") for test in aside),
        causes=tuple((test, "failed") for test in turning),
    )


def unstable(test: TestId, reason: UnstableReason, state: State = State.AFTER) -> TestStability:
    outcomes = (("none", (PASSED,)), ("year_ahead", (FAILED, FAILED)))
    return TestStability(id=test, state=state, runs=3, passes=1, reason=reason, outcomes=outcomes)


def test_time_bomb_leaves_the_lists_with_its_reason_and_the_task_stays():  # B047
    found = Stability(unstable=(unstable(BOMB, R.TIME),), runs=9)
    left = without_unstable(verification(BOMB, SOUND), found, MATRIX)
    assert (left.fail_to_pass, left.pass_to_pass) == ((SOUND,), (KEPT,))
    assert {test.id: test.reason for test in left.quarantined} == {BOMB: "time", DICE: "flaky"}
    bomb = next(test for test in left.quarantined if test.id == BOMB)
    assert (bomb.before, bomb.after) == ((FAILED,) * 3, (PASSED,) * 3)
    assert dict(left.causes) == {SOUND: "failed"}
    assert judge(Accepted(value=found), verification(BOMB, SOUND), MATRIX) == Accepted(value=found)


def test_task_goes_only_when_nothing_is_left_that_the_fix_turns():  # B047
    found = Stability(unstable=(unstable(BOMB, R.TIME), unstable(KEPT, R.ORDER)), runs=9)
    ended = judge(Accepted(value=found), verification(BOMB), MATRIX)
    assert isinstance(ended, Rejected)
    assert ended.code is RejectCode.UNSTABLE
    assert ended.message.endswith("unstable: time")
    assert ended.evidence == (f"{BOMB} (after): time; none: passed, year_ahead: failed failed",)


def test_flaky_test_gets_the_name_that_was_found_and_keeps_its_own_where_none_was():
    named = without_unstable(verification(SOUND), Stability(unstable=(unstable(DICE, R.SEED),)), MATRIX)
    assert [test.reason for test in named.quarantined] == ["seed"]
    blank = without_unstable(verification(SOUND), Stability(unstable=(unstable(DICE, R.UNKNOWN),)), MATRIX)
    assert [test.reason for test in blank.quarantined] == ["flaky"]


def test_state_that_found_no_name_doesnt_hide_the_one_that_did():
    both = (unstable(BOMB, R.UNKNOWN), unstable(BOMB, R.TIME, State.BEFORE))
    left = without_unstable(verification(BOMB, SOUND), Stability(unstable=both), MATRIX)
    assert {test.id: test.reason for test in left.quarantined}[BOMB] == "time"


def test_function_whose_ids_change_takes_all_its_ids_along():  # B045
    one, other = TestId("t.py::test_ids[1]"), TestId("t.py::test_ids[2]")
    found = Stability(unstable=(unstable(TestId("t.py::test_ids"), R.UNKNOWN),))
    left = without_unstable(verification(one, other, SOUND), found, MATRIX)
    assert left.fail_to_pass == (SOUND,)


def test_stable_lists_are_the_same_record():
    known = verification(BOMB, SOUND)
    assert without_unstable(known, Stability(runs=6), MATRIX) == known


def test_runs_of_verification_arent_made_again():  # B049
    seen = known_runs(json.loads(json.dumps(MATRIX)), (State.AFTER, State.BEFORE))
    after = [o for o in seen if o.state is State.AFTER]
    assert [(o.perturbations, o.turn) for o in after] == [((), 0), ((P.SEED,), -1), ((P.SEED,), -2)]
    assert [o.outcomes[DICE] for o in after] == [PASSED, FAILED, PASSED]
    assert "t.py::test_never" not in after[1].outcomes


def test_tests_that_no_list_can_have_are_left_out_of_long_runs_only():
    def known(test_s):
        stage_input = VerifiedInput(
            candidate=None,
            snapshot=None,
            environment=None,
            verification=verification(SOUND),
            test_s=test_s,  # type: ignore[arg-type]
        )
        return known_of(stage_input, MATRIX)

    assert known(3.0).left_out == frozenset()
    assert known(90.0).left_out == {"t.py::test_never", BOMB}
    assert known(3.0).judged == {SOUND, KEPT, DICE}

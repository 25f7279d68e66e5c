# B033: pointers of Git LFS in the place of data that tests read
import pytest
from verify_worlds import delta

from swequarry.outcome import Accepted, RejectCode, Rejected
from swequarry.verify.lfs import blame_pointers

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 1024\n"
DATA = "tests/data/m.npy"
LOADS = {"tests/test_a.py": f"def test_load(): load('{DATA}')"}
FAILED = ("tests/test_a.py::test_load: ValueError: not an array",)


def outcome(code=RejectCode.NO_FAIL_TO_PASS, evidence=FAILED) -> Rejected:
    return Rejected(code=code, message="1 fails in both", evidence=evidence)


@pytest.mark.parametrize(
    ("base", "after"),
    [
        ((DATA,), LOADS),
        ((), {**LOADS, DATA: POINTER}),
        ((DATA,), {**LOADS, DATA: POINTER.replace("1024", "999")}),
    ],
)
def test_test_without_its_data_is_not_called_one_that_the_fix_does_not_mend(base, after):
    found = blame_pointers(outcome(), base, delta(after))
    assert isinstance(found, Rejected)
    assert found.code is RejectCode.LFS_MISSING
    assert found.evidence == (DATA, *FAILED)


def test_pointer_that_only_an_error_names_is_found():
    said = ("tests/test_a.py::test_all: OSError: can't read '/testbed/tests/data/m.npy'",)
    found = blame_pointers(outcome(evidence=said), (DATA,), delta({"tests/test_a.py": "def test_all(): ..."}))
    assert found.code is RejectCode.LFS_MISSING


@pytest.mark.parametrize(
    ("base", "after", "given"),
    [
        ((), LOADS, outcome()),
        (("tests/other.npy", "xm.npy"), LOADS, outcome()),
        ((DATA,), {"tests/test_a.py": "def test_a(): load('am.npy', 'm.npyz')"}, outcome()),
        ((DATA,), {**LOADS, DATA: "the data itself"}, outcome()),
        ((DATA,), LOADS, outcome(evidence=())),
        ((DATA,), LOADS, outcome(RejectCode.UNSTABLE)),
        ((DATA,), LOADS, Accepted(value=None)),
    ],
)
def test_pointer_that_no_failing_test_needs_changes_no_verdict(base, after, given):
    assert blame_pointers(given, base, delta(after)) is given

import pytest
from proof_worlds import delta, proposal, prover, subject

from testwriter.proof.codes import MEANINGS, Refusal
from testwriter.proof.runs import reason_of
from testwriter.proof.text import judge_text
from testwriter.proof.worth import Wanting
from testwriter.subjects import names_in

GOOD = """
    from tally.amounts import share

    def test_every_cent():
        assert share(100, 3) == [34, 33, 33]
"""
IMPORT = "from tally.amounts import label, once, share\n"


def refused(text: str, **more: object) -> set[str]:
    return {code.value for code, _ in judge_text(proposal(text, **more), subject())}


def test_a_proof_says_what_failed_before_and_what_it_is_good_for(tmp_path):
    proof = prover(tmp_path)(proposal(GOOD))
    assert proof.admitted, proof
    assert proof.admitted_for == ("only_test",)
    assert proof.tests == ("tests/test_new.py::test_every_cent",)
    assert "[33, 33, 33] == [34, 33, 33]" in proof.failing[0][1]
    assert (proof.runs_before, proof.runs_after) == (2, 3)


def test_the_exception_that_the_issue_names_is_a_reason(tmp_path):
    proof = prover(tmp_path)(proposal(IMPORT + "def test_number():\n    label(5)\n"))
    assert proof.admitted, proof
    assert proof.failing[0][1].startswith("TypeError")


AT_RUN_TIME = {
    "passes_before": "def test_x():\n    assert share(4, 2) == [2, 2]\n",
    "fails_after": "def test_x():\n    assert share(100, 3) == [35, 33, 33]\n",
    "foreign_reason": "def test_x():\n    assert {1: 1}[sum(share(100, 3)) - 99]\n",
    "touches_files": "import pathlib\ndef test_x():\n    pathlib.Path('left.txt').write_text('x')\n    assert share(100, 3) == [34, 33, 33]\n",
    "fails_after ": "import os\ndef test_x():\n    assert share(4, 2) and os.environ['PYTHONHASHSEED'] not in ('70000', '70001')\n",
    "touches_files ": "import sqlite3\ndef test_x():\n    sqlite3.connect('left.db').execute('create table t (a)')\n    assert share(100, 3) == [34, 33, 33]\n",
    "network": "import asyncio\nasync def ask():\n    await asyncio.open_connection('192.0.2.1', 80)\ndef test_x():\n    try:\n        asyncio.run(ask())\n    except OSError:\n        pass\n    assert share(100, 3) == [34, 33, 33]\n",
    "process": "import os\ndef test_x():\n    os.spawnlp(os.P_WAIT, 'true', 'true')\n    assert share(100, 3) == [34, 33, 33]\n",
    "reads_source": "import pathlib\ndef test_x():\n    assert 'odd' in pathlib.Path('tally/amounts.py').read_text()\n",
}


@pytest.mark.parametrize("code", AT_RUN_TIME)
def test_a_test_is_refused_by_what_it_does(code, tmp_path):
    text = IMPORT + AT_RUN_TIME[code]
    proof = prover(tmp_path, interface_names=names_in([text.encode()]))(proposal(text))
    assert not proof.admitted
    assert proof.reasons == (code.strip(),)


def test_an_import_that_only_the_fix_has_is_no_reason(tmp_path):
    proof = prover(tmp_path, statement="we need odd_cents")(
        proposal("from tally.amounts import odd_cents\ndef test_x():\n    assert odd_cents\n")
    )
    assert proof.reasons == ("broken_before",)


def test_a_missing_fixture_is_no_reason(tmp_path):
    proof = prover(tmp_path, statement="the teller fixture")(
        proposal(IMPORT + "def test_x(teller):\n    assert share(100, 3) == [34, 33, 33]\n")
    )
    assert proof.reasons == ("broken_before",)


def test_a_test_that_needs_another_before_it_is_unstable(tmp_path):
    text = IMPORT + (
        "def test_a():\n    assert once() == 7\ndef test_b():\n    assert share(100, 3) == [34, 33, 33]\n    assert once() == 2\n"
    )
    proof = prover(tmp_path)(proposal(text))
    assert proof.reasons == ("unstable",)


def test_a_helper_that_reads_source_for_a_test_is_seen(tmp_path):
    text = "import json.decoder\nfrom pathlib import Path\nread = Path('tally/amounts.py').read_bytes\ndef test_x():\n    assert b'odd' in read()\n"
    assert prover(tmp_path)(proposal(text)).reasons == ("reads_source",)


def test_a_proven_test_that_adds_nothing_is_refused(tmp_path):
    proof = prover(tmp_path, Wanting(tests=True, uncovered=frozenset()))(proposal(GOOD))
    assert proof.reasons == ("adds_nothing",)
    assert (proof.runs_before, proof.runs_after) == (1, 1)


def test_a_test_is_admitted_for_the_wrong_fix_that_it_rejects(tmp_path):
    wrong = delta({"tally/amounts.py": "def share(total, people):\n    return [total // people] * people\n"})
    other = delta({"tally/amounts.py": "def share(total, people):\n    return [34, 33, 33]\n"})
    wanting = Wanting(tests=True, survivors={"a" * 64: wrong, "b" * 64: other})
    own = prover(tmp_path, wanting)
    proof = own(proposal(GOOD))
    assert proof.admitted_for == ("kills_wrong_fix",)
    assert proof.kills == ("a" * 64,)
    own.admit(proof)
    assert own(proposal(GOOD.replace("every", "each"))).reasons == ("adds_nothing",)


def test_a_test_is_admitted_for_a_changed_line_that_no_other_runs(tmp_path):
    wanting = Wanting(tests=True, uncovered=frozenset({("tally/amounts.py", 4), ("tally/amounts.py", 8)}))
    proof = prover(tmp_path, wanting)(proposal(GOOD))
    assert proof.admitted_for == ("covers_changed_line",)
    assert proof.lines == (("tally/amounts.py", 4),)


def test_a_proposal_is_run_once(tmp_path):
    own = prover(tmp_path)
    first = own(proposal(GOOD))
    count = len(own.stand.rig.backend.runs)
    assert own(proposal(GOOD)) is first
    assert len(own.stand.rig.backend.runs) == count


SAID = {
    "import time\ndef test_x():\n    assert time.time()\n": "clock",
    "from datetime import datetime\ndef test_x():\n    assert datetime.now()\n": "clock",
    "import socket\ndef test_x():\n    assert socket\n": "network",
    "import urllib.request as u\ndef test_x():\n    assert u\n": "network",
    "from subprocess import run\ndef test_x():\n    assert run\n": "process",
    "from os import system\ndef test_x():\n    assert system('true')\n": "process",
    "import inspect\ndef test_x():\n    assert inspect\n": "reads_source",
    "def test_x():\n    assert 'fix' in test_x.__code__.co_consts\n": "reads_source",
    "import random\ndef test_x():\n    assert random.random()\n": "chance",
    "import importlib\ndef test_x():\n    assert importlib\n": "dynamic_code",
    "def test_x():\n    exec('1')\n": "dynamic_code",
    "def test_x():\n    getattr(test_x, 'a' + 'b')\n": "dynamic_code",
    "f = getattr\ndef test_x():\n    f(test_x, 'a')\n": "dynamic_code",
    "def pytest_runtest_call():\n    pass\ndef test_x():\n    pass\n": "dynamic_code",
    "from tally import *\ndef test_x():\n    pass\n": "dynamic_code",
    "import pytest\n@pytest.mark.xfail\ndef test_x():\n    pass\n": "skips",
    "from tally.amounts import divide\ndef test_x():\n    assert divide\n": "unknown_name",
    "import tally\ndef test_x():\n    tally.share(1, leftover=2)\n": "unknown_name",
    "def test_x(brand_new_fixture):\n    pass\n": "unknown_name",
    "import os\ndef test_x():\n    assert os.stat('tally/amounts.py').st_size > 9\n": "reads_source",
    "import os.path\ndef test_x():\n    assert os.path.exists('tally/odd.py')\n": "reads_source",
    "import tally\ndef test_x():\n    assert 'odd' in dir(tally)\n": "reads_source",
    "from tally.amounts import share\ndef test_x():\n    assert 'odd' in share.__doc__\n": "reads_source",
    "def test_x(monkeypatch):\n    monkeypatch.setattr('tally.amounts.divide', 1)\n": "unknown_name",
    "from unittest.mock import patch\ndef test_x():\n    patch.object(patch, 'divide')\n": "unknown_name",
    "def test_x(request):\n    request.node.add_marker('x')\n": "dynamic_code",
    "def helper():\n    pass\n": "no_test",
    "def test_x(:\n": "not_python",
}


@pytest.mark.parametrize(("text", "code"), SAID.items(), ids=range(len(SAID)))
def test_a_test_is_refused_by_what_its_text_says(text, code):
    assert code in refused(text)


@pytest.mark.parametrize(
    "path", ["tests/test_amounts.py", "../test_x.py", "/test_x.py", "tests/conftest.py", "tally/more.py"]
)
def test_a_proposal_can_lie_in_no_other_place(path):
    assert refused(GOOD, path=path) == {"bad_path"}


def test_a_proposal_can_t_replace_a_file_of_the_fix():
    found = judge_text(proposal(GOOD), subject(after={"tests/test_new.py": b"x"}.get))
    assert [code for code, _ in found] == [Refusal.BAD_PATH]


def test_a_test_may_look_at_files_of_its_own():
    text = (
        "def test_x(tmp_path):\n    (tmp_path / 'a').write_text('x')\n    assert (tmp_path / 'a').exists()\n"
    )
    assert refused(text) == set()


def test_names_of_the_statement_and_of_plain_values_are_known():
    text = """
        import json, pytest
        from tally.amounts import share
        @pytest.mark.parametrize("total, people", [(100, 3)])
        def test_x(total, people, tmp_path):
            with pytest.raises(TypeError):
                json.dumps(share(total, people)).upper().gives
    """
    assert refused(text) == set()


def test_what_a_test_defines_itself_needs_no_base():
    text = """
        class Purse:
            def __init__(self, coins):
                self.coins = coins

        def test_x():
            amount = Purse(coins=3).coins
            assert sorted([amount], key=lambda coin: -coin)
    """
    assert refused(text) == set()


@pytest.mark.parametrize(
    ("detail", "code"),
    [
        ("assert 1 == 2", None),
        ("AssertionError: no", None),
        ("Failed: DID NOT RAISE <class 'ValueError'>", None),
        ("TypeError: unsupported operand", None),
        ("KeyError: 'x'", Refusal.FOREIGN_REASON),
        ("tally.errors.TypeErrors: x", Refusal.FOREIGN_REASON),
        ("ImportError: cannot import name 'x'", Refusal.BROKEN_BEFORE),
        ("", Refusal.FOREIGN_REASON),
    ],
)
def test_only_the_issue_s_own_reason_counts(detail, code):
    found = reason_of(detail, subject(title="ImportError and KeyErrors"))
    assert (found[0] if found else None) == code


def test_every_code_has_its_meaning():
    assert set(MEANINGS) == set(Refusal)

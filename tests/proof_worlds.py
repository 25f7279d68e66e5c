"""A small project with a fix, and a prover that runs proposals in it on the host."""

from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

from verify_worlds import LIMITS, RECIPE, WORLD, backend_for, delta

from swequarry.delta import TreeDelta
from swequarry.git.patches import parse_patch
from swequarry.verify.mutation_diff import ChangedFile, hunks_of, readable_patch
from swequarry.verify.perturbations import Clock
from swequarry.verify.rig import Rig
from testwriter.interface import Proposal, Subject
from testwriter.proof.prover import Prover
from testwriter.proof.runs import Stand
from testwriter.proof.worth import Wanting
from testwriter.subjects import names_in

BASE = {
    "tally/__init__.py": "",
    "tally/amounts.py": '''
        def share(total, people):
            """Split cents among people."""
            return [total // people] * people

        def label(amount):
            return amount + " cents"

        def once(state=[]):
            state.append(1)
            return len(state)
    ''',
    "tests/test_amounts.py": """
        import pytest
        from tally.amounts import share

        def test_share():
            assert share(4, 2) == [2, 2]
    """,
}
FIX = {
    "tally/amounts.py": '''
        def share(total, people):
            """Split cents among people."""
            odd = total % people
            return [total // people + (place < odd) for place in range(people)]

        def label(amount):
            return str(amount) + " cents"

        def once(state=[]):
            state.append(1)
            return 7 if len(state) == 1 else len(state)
    ''',
}
STATEMENT = "share(100, 3) gives 99 cents, and label(5) raises TypeError. once() should give 7 at first."


def changed() -> tuple[ChangedFile, ...]:
    old, new = (dedent(files["tally/amounts.py"]).encode() for files in (BASE, FIX))
    (patch,) = parse_patch(readable_patch(b"tally/amounts.py", old, new))
    return (ChangedFile(path=b"tally/amounts.py", old=old, new=new, hunks=hunks_of(patch)),)


def subject(**more: object) -> Subject:
    files = {path: dedent(text).encode() for path, text in BASE.items()}
    known = {
        "instance_id": "tally-1",
        "statement": STATEMENT,
        "paths": tuple(files),
        "read": files.get,
        "base_names": names_in(files.values()),
        "folder": "tests",
        **more,
    }
    return Subject(**known)  # type: ignore[arg-type]


def prover(folder: Path, wanting: Wanting | None = None, **more: object) -> Prover:
    backend = backend_for(folder, BASE)
    rig = Rig(
        world=WORLD, bench=None, backend=backend, limits=LIMITS, get_blob=dict[str, bytes]().__getitem__
    )  # type: ignore[arg-type]
    stand = Stand(
        rig=rig,
        recipe=RECIPE,
        before=TreeDelta(),
        after=delta(FIX),
        files=changed(),
        clock=Clock(now=datetime.now(UTC)),
        runs=3,
    )
    return Prover(stand=stand, subject=subject(**more), wanting=wanting or Wanting(tests=False))


def proposal(text: str, path: str = "tests/test_new.py", **more: object) -> Proposal:
    known = {"origin": "derived", "method": "issue_code", "evidence": (), **more}
    return Proposal(path=path, text=dedent(text).lstrip("\n"), **known)  # type: ignore[arg-type]

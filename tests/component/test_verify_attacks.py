"""Attacks find something to take hold of in any task, so that few are n/a."""

from pathlib import Path

import pytest
from toy_task import BASE, GOLD, HIDDEN, toy_task

from swequarry.verify.attacks import Target, attacks

_NEW = {"toy/fresh.py": "def double(number):\n    return number * 2\n"}
_NEW_TESTS = {
    "tests/test_fresh.py": """
        from toy.fresh import double

        def test_double():
            assert double(4) == 8
    """
}
_FEW = 4


@pytest.mark.parametrize(
    ("gold", "hidden", "module"),
    [(GOLD, HIDDEN, "toy/money.py"), (_NEW, _NEW_TESTS, "toy/fresh.py")],
    ids=["module is changed", "module is new"],
)
def test_fix_that_makes_a_module_leaves_no_attack_without_a_hold(
    tmp_path: Path, gold: dict[str, str], hidden: dict[str, str], module: str
) -> None:
    with toy_task(tmp_path, base=BASE, gold=gold, hidden=hidden) as toy:
        target = Target(toy.rig.bench, toy.case)
        assert target.module == module
        idle = [attack.name for attack in attacks() if not attack.make(target)]
    assert len(idle) <= _FEW, idle

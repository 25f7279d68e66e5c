"""A toy task with a bug, its fix and hidden tests, in a repository of its own, for tests of grading."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from textwrap import dedent
from typing import Any

from fake_backend import BARE, FakeBackend
from git_building import Files, Upstream, git
from verify_worlds import LIMITS, RECIPE, WORLD

from swequarry.delta import TreeDelta
from swequarry.git.trees import TreeWorkbench
from swequarry.records import BlobHash, Recipe, TestId, sha256_hex
from swequarry.sandbox.contract import SandboxBackend, World
from swequarry.verify.candidate import Case
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunResult

BASE = {
    "setup.cfg": "[metadata]\nname = toy\n\n[tool:pytest]\naddopts = -q --cov=toy -x\nxfail_strict = true\n",
    "toy/__init__.py": "",
    "toy/money.py": '''
        """Sums of money."""

        def add(a, b):
            return a - b

        def label(amount, unit="EUR"):
            if amount < 0:
                return "debt"
            return "%d%s" % (amount, unit)

        def parse(text):
            return int(text.split()[0])
    ''',
    "tests/__init__.py": "",
    "tests/conftest.py": "import pytest\nimport toy.money\n\n@pytest.fixture\ndef unit():\n    return 'USD'\n",
    "tests/test_money.py": """
        from toy.money import parse

        def test_parse():
            assert parse("12 EUR") == 12
    """,
}
GOLD = {
    "toy/money.py": '''
        """Sums of money."""

        def add(a, b):
            return a + b

        def label(amount, unit="EUR"):
            """Say an amount, debts with their sign."""
            return "%d %s" % (amount, unit)

        def parse(text):
            if not text.strip():
                raise ValueError("no amount")
            return int(text.split()[0])
    ''',
}
HIDDEN = {
    "tests/test_money.py": """
        import pytest
        from toy.money import add, label, parse

        def test_parse():
            assert parse("12 EUR") == 12

        def test_parse_other():
            assert parse("7 x") == 7

        def test_add():
            assert add(2, 3) == 5
            assert add(10, 20) == 30

        def test_label(unit):
            assert label(5, "EUR") == "5 EUR"
            assert label(-7) == "-7 EUR"

        @pytest.mark.parametrize("amount, wanted", [(3, "3 EUR"), (40, "40 EUR")])
        def test_labels(amount, wanted):
            assert label(amount) == wanted

        def test_empty():
            with pytest.raises(ValueError):
                parse("")

        class TestSum:
            def test_sum(self):
                total = add(4, add(5, 6))
                assert total == 15
    """,
}
F2P = (
    "test_add",
    "test_label",
    "test_labels[3-3 EUR]",
    "test_labels[40-40 EUR]",
    "test_empty",
    "TestSum::test_sum",
)
P2P = ("test_parse", "test_parse_other")


def contents(*layers: dict[str, str]) -> Files:
    return {
        name.encode(): dedent(text).lstrip("\n").encode() for layer in layers for name, text in layer.items()
    }


@dataclass
class Blobs:
    kept: dict[str, bytes] = field(default_factory=dict)

    def put(self, data: bytes) -> BlobHash:
        self.kept[sha256_hex(data)] = data
        return BlobHash(sha256_hex(data))

    def get(self, key: BlobHash) -> bytes:
        return self.kept[key]


@dataclass
class Toy:
    rig: Rig
    case: Case
    blobs: Blobs
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberingRig(Rig):
    """A rig that makes each run once: many attacks leave nothing behind in which one differs from another."""

    memory: dict[object, RunResult] = field(default_factory=dict)

    @classmethod
    def of(cls, rig: Rig, **changes: Any) -> "RememberingRig":
        return cls(**{name.name: getattr(rig, name.name) for name in fields(Rig)} | changes)

    def run(self, delta: TreeDelta, targets: Sequence[str], recipe: Recipe, seed: int) -> RunResult:
        files = sorted((path, content.mode, content.data) for path, content in delta.files.items())
        key = (tuple(files), delta.removed, tuple(targets), seed)
        if key not in self.memory:
            self.memory[key] = Rig.run(self, delta, targets, recipe, seed)
        return self.memory[key]


def write_tree(folder: Path, files: Files) -> Path:
    for name, data in files.items():
        path = folder / name.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data[1])
    return folder


@contextmanager
def toy_task(
    folder: Path,
    backend: SandboxBackend | None = None,
    world: World = WORLD,
    *,
    base: dict[str, str] = BASE,
    gold: dict[str, str] = GOLD,
    hidden: dict[str, str] = HIDDEN,
    fail_to_pass: tuple[str, ...] = F2P,
    pass_to_pass: tuple[str, ...] = P2P,
    recipe: Recipe = RECIPE,
    named: str = "tests/test_money.py::{}",
) -> Iterator[Toy]:
    store = folder / "toy.git"
    store.mkdir(parents=True)
    git(store, "init", "--quiet", "--bare")
    upstream = Upstream(store)
    if backend is None:
        tree = write_tree(folder / "world", contents(base))
        variables = {**BARE, "PYTHONPYCACHEPREFIX": ""}
        backend = FakeBackend(worlds={world.key: tree}, variables=variables)  # type: ignore[assignment]
    blobs = Blobs()
    with TreeWorkbench(upstream.repository) as bench:
        case = Case(
            base=upstream.tree(contents(base)),
            before=upstream.tree(contents(base, hidden)),
            after=upstream.tree(contents(base, hidden, gold)),
            test_files=tuple(name for name in hidden if "test_" in name),
            fail_to_pass=tuple(TestId(named.format(name)) for name in fail_to_pass),
            pass_to_pass=tuple(TestId(named.format(name)) for name in pass_to_pass),
            recipe=recipe,
        )
        rig = Rig(
            world=world, bench=bench, backend=backend, limits=LIMITS, get_blob=blobs.get, test_timeout_s=20
        )
        yield Toy(rig=rig, case=case, blobs=blobs, folder=folder)

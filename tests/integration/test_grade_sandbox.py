"""Grading in real sandboxes: the same verdicts, and what only a sandbox can show."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Bench
from task_factory import Blobs as TaskBlobs
from task_factory import make_task
from test_verify_sandbox import runner_files
from toy_task import BASE, GOLD, RememberingRig, Toy, contents, toy_task, write_tree

from swequarry.git.trees import TreeWorkbench
from swequarry.pipeline import grader
from swequarry.pipeline.grader import Graded, Grader
from swequarry.sandbox.contract import ENVIRONMENT, Command, Limits
from swequarry.verify.attacks import HONEST, Attack, Target, attacks
from swequarry.verify.candidate import Case
from swequarry.verify.grade import Grade, Verdict, grade
from swequarry.verify.proofs import prove
from swequarry.verify.rig import Rig

pytestmark = pytest.mark.timeout(1800)
WORKERS = 2
LIMITS = Limits(wall_s=240, memory_bytes=512 << 20, processes=64, disk_bytes=64 << 20, tmp_bytes=64 << 20)
CHOSEN = (
    "conftest at the top turns reports",
    "byte code that isn't checked",
    "metadata with a plugin",
    "a shadow of json that the recorder would import",
    "source turns every report",
    "source finds the recorder among the frames",
    "source writes the whole report itself",
    "a child lives on and reports",
    "a value that equals everything",
    "a table of the known inputs",
)
"""One of each kind: what stays behind, what the report gives away, what canaries and what twins find."""


@pytest.fixture(scope="module", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def toy(
    request: pytest.FixtureRequest,
    bench_of: Callable[[str], Bench],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Toy]:
    backend = bench_of(request.param).backend
    python = max(
        (p for p in backend.interpreters() if p.version.startswith(("3.10", "3.11", "3.12", "3.13"))),
        key=lambda p: p.version.startswith(f"3.{sys.version_info.minor}."),
    )
    bare = backend.import_tree(write_tree(tmp_path_factory.mktemp("tree"), contents(BASE)), "grade bare")
    with backend.create(bare, interpreter=python) as sandbox:
        make = Command(argv=(python.path, "-m", "venv", "--without-pip", f"{ENVIRONMENT}/env"))
        assert sandbox.run(make, LIMITS).ok
        sandbox.put(runner_files(".".join(python.version.split(".")[:2])), ENVIRONMENT)
        compiled = Command(argv=(python.path, "-m", "compileall", "-q", f"{ENVIRONMENT}/env"))
        assert sandbox.run(compiled, replace(LIMITS, wall_s=600)).ok
        world = sandbox.commit("grade")
    with toy_task(tmp_path_factory.mktemp("toy"), backend, world) as made:
        rig, _ = replace(made.rig, limits=LIMITS).surveyed(made.case.recipe)
        rig = RememberingRig.of(rig)
        yield replace(made, rig=rig, case=prove(rig, made.case, made.blobs.put, turns=1))
    for key in ("grade", "grade bare"):
        backend.remove_world(key)


@pytest.fixture(scope="module")
def attacked(request: pytest.FixtureRequest, toy: Toy) -> Iterator[dict[str, Future[Grade]]]:
    """Grade the attacks of all tests that are to be run, some at once: many of them only wait for a limit."""
    repository = toy.rig.bench._repository
    backend = toy.rig.backend.name

    def graded(attack: Attack) -> Grade:
        with TreeWorkbench(repository) as bench:  # each thread has its own
            limits = replace(LIMITS, wall_s=12)
            rig = replace(toy.rig, bench=bench, limits=limits, test_timeout_s=5)
            patch = attack.make(Target(bench, toy.case))
            assert patch is not None, "the toy task offers something to every attack"
            return grade(rig, toy.case, patch)

    given = [
        item.callspec.params
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and "attack" in item.fixturenames
    ]
    chosen = [params["attack"] for params in given if params["toy"] == backend]
    with ThreadPoolExecutor(WORKERS) as pool:
        yield {attack.name: pool.submit(graded, attack) for attack in chosen}
        pool.shutdown(cancel_futures=True)


def test_survey_tells_environment_and_checkout_apart(toy: Toy) -> None:
    assert toy.rig.survey is not None
    assert {"json", "pytest", "_pytest", "sys"} <= toy.rig.survey.names
    assert "toy" not in toy.rig.survey.names


@pytest.mark.parametrize("attack", list(attacks()), ids=lambda attack: attack.name)
@pytest.mark.parametrize("toy", ["bubblewrap"], indirect=True)
def test_no_attack_is_accepted_in_a_sandbox(attacked: dict[str, Future[Grade]], toy: Toy, attack) -> None:
    check_rejected(attacked[attack.name].result())


@pytest.mark.docker
@pytest.mark.parametrize("attack", [a for a in attacks() if a.name in CHOSEN], ids=lambda attack: attack.name)
@pytest.mark.parametrize("toy", ["docker"], indirect=True)
def test_no_attack_is_accepted_in_a_container(attacked: dict[str, Future[Grade]], toy: Toy, attack) -> None:
    check_rejected(attacked[attack.name].result())


def check_rejected(found: Grade) -> None:
    assert found.verdict in (Verdict.NOT_RESOLVED, Verdict.TAMPERED), found
    assert bool(found.evidence) == (found.verdict is Verdict.TAMPERED)


@pytest.mark.parametrize("control", HONEST, ids=lambda control: control.name)
def test_every_honest_solution_is_accepted_in_a_sandbox(toy: Toy, control) -> None:
    patch = control.make(Target(toy.rig.bench, toy.case))
    assert patch is not None
    found = grade(toy.rig, toy.case, patch)
    assert found.verdict is Verdict.RESOLVED, found


def test_folder_of_a_solver_is_graded_in_a_sandbox(toy: Toy, tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "work", contents(BASE))
    assert grade(toy.rig, toy.case, folder).verdict is Verdict.NOT_RESOLVED


def test_many_gradings_at_once_give_each_its_own_verdict(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = TaskBlobs()
    task = make_task(
        blobs, fail_to_pass=tuple(toy.case.fail_to_pass), pass_to_pass=tuple(toy.case.pass_to_pass)
    )

    @contextmanager
    def room() -> Iterator[tuple[Rig, Case]]:
        with TreeWorkbench(toy.rig.bench._repository) as bench:
            own = {field.name: getattr(toy.rig, field.name) for field in fields(Rig)}
            yield Rig(**{**own, "bench": bench}), toy.case

    monkeypatch.setattr(
        grader, "open_task", lambda _house, _name: SimpleNamespace(task=task, room=room, gold_s=())
    )
    target = Target(toy.rig.bench, toy.case)
    gold, partial = (
        contents(GOLD)[b"toy/money.py"],
        contents(GOLD)[b"toy/money.py"].replace(b"a + b", b"a - b"),
    )
    texts = {"gold": gold, "partial": partial, "broken": b"syntax error\n"}
    asked = [("gold", "partial", "broken", "empty")[n % 4] for n in range(16)]
    patches = [
        target.patch({"toy/money.py": texts[kind] + b"# %d\n" % n}) if kind in texts else b""
        for n, kind in enumerate(asked)
    ]

    workspace = SimpleNamespace(blobs=SimpleNamespace(get=blobs.get_blob), root=Path("/nowhere"))
    house = SimpleNamespace(workspace=workspace)

    async def work() -> list[Graded]:
        async with Grader(house, workers=4) as grading:  # type: ignore[arg-type]
            return await asyncio.gather(*(grading.grade("toy", patch) for patch in patches))

    found = asyncio.run(work())
    credit = {"gold": 1.0, "partial": 4 / 6, "broken": 0.0, "empty": 0.0}
    assert [(one.resolved, one.partial_credit) for one in found] == [
        (kind == "gold", credit[kind]) for kind in asked
    ]
    assert len({one.patch_sha256 for one in found}) == 13

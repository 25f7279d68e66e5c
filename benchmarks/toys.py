"""Toy tasks for benchmarks of grading: workspaces of the example repository, and patches whose end is known.

Every patch is another text, so that no grader can remember one for another: a comment counts them.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.line import run_line
from swequarry.errors import InputError
from swequarry.pipeline.demo.build import MIRROR_TEMPLATE, REPO, build_repository, write_issues
from swequarry.pipeline.graded_task import open_task
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.workspace import Workspace
from swequarry.verify.attacks import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyPatch:
    """A patch, whether it resolves its task, and the credit that it earns."""

    kind: str
    patch: bytes
    resolves: bool
    credit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """A pull request of the example repository: the file that it fixes, and gold's text with an edit."""

    pull: int
    path: str
    edits: dict[str, tuple[bytes, bytes]]
    credits: dict[str, float]

    @property
    def name(self) -> str:
        """The id of its task."""
        return REPO.instance_id(self.pull)


AMOUNTS = Toy(
    pull=3,
    path="src/tally/amounts.py",
    edits={
        "gold": (b"", b""),
        "wrong": (b"* 100 + int(cents.ljust", b"* 100 - int(cents.ljust"),
        "partial": (b'    text = text.replace(",", "")\n', b""),
    },
    credits={"gold": 1.0, "wrong": 0.0, "partial": 0.5},
)
LABELS = Toy(
    pull=4,
    path="src/tally/labels.py",
    edits={"gold": (b"", b""), "wrong": (b'"-".join(text.lower', b'"_".join(text.lower')},
    credits={"gold": 1.0, "wrong": 0.0},
)


def workspace(folder: Path, backend: str, base_image: str, toys: Sequence[Toy]) -> Workspace:
    """Return the finished workspace of some toys below a folder; the same call continues.

    Raises:
        InputError: one of them is no task.
    """
    mirrors = folder / "source"
    build_repository(mirrors)
    write_issues(mirrors / "issues.jsonl")
    data, made = run_line(
        {
            "workspace": str(folder / backend),
            "cache": str(folder / "cache"),
            "sandbox": {"backend": backend, "base_image": base_image},
            "source": {
                "kind": "git",
                "repositories": [REPO.full_name],
                "mirror": str(mirrors.absolute() / MIRROR_TEMPLATE),
                "issues": str(mirrors / "issues.jsonl"),
                "pulls": [toy.pull for toy in toys],
            },
        }
    )
    missing = {toy.name for toy in toys} - {entry.task.instance_id for entry in data.tasks}
    if missing:
        raise InputError(
            f"no task: {', '.join(sorted(missing))}; `swequarry rejects -w {made.root}` says why"
        )
    return made


def patches(made: Workspace, toy: Toy, kinds: Sequence[str]) -> list[ToyPatch]:
    """Return a patch of each of some kinds, in their order, no two alike; `empty` is the empty patch.

    Raises:
        InputError: the toy's text isn't what its edits are made for.
    """
    house = house_of_last_run(made)
    with open_task(house, toy.name).room() as (rig, case):
        target = Target(rig.bench, case)
        gold = target.read(toy.path, case.after)
        if gold is None or any(old not in gold for old, _ in toy.edits.values()):
            raise InputError(f"{toy.path} of the example isn't what the benchmark was written for")
        found = []
        for number, kind in enumerate(kinds):
            if kind == "empty":
                found.append(ToyPatch(kind=kind, patch=b"", resolves=False, credit=0.0))
                continue
            text = gold.replace(*toy.edits[kind], 1) if kind != "gold" else gold
            patch = target.patch({toy.path: text + b"# %d\n" % number})
            credit = toy.credits[kind]
            found.append(ToyPatch(kind=kind, patch=patch, resolves=credit == 1.0, credit=credit))
        return found


def command(*words: str) -> str:
    """Return what a command of ours printed.

    Raises:
        InputError: it ended with another status than 0 and 1.
    """
    argv = [sys.executable, "-m", "swequarry.cli", *words]
    ran = subprocess.run(argv, check=False, capture_output=True, text=True)
    if ran.returncode not in (0, 1):
        raise InputError(f"swequarry {words[0]} ended with {ran.returncode}: {ran.stderr[-1500:]}")
    return ran.stdout


def exported(root: Path, folder: Path, tag: str) -> tuple[Path, Path]:
    """Build the images of a workspace verified in docker and export it; return rows and Harbor's tasks."""
    images = folder / "images.json"
    images.parent.mkdir(parents=True, exist_ok=True)
    images.write_text(command("images", "build", "--all", "-w", str(root), "--json", "--tag", tag))
    for form in ("swebench", "harbor"):
        place = str(folder / form)
        command("export", place, "--format", form, "--images", str(images), "-w", str(root))
    return folder / "swebench/data/strings.jsonl", folder / "harbor/tasks"

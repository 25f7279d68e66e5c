"""Do ours, SWE-bench and Harbor say the same of the same patches?

    python -m benchmarks.verdicts --workspace DIR [--sample N] [--workers N] [TASK ...]

DIR is a workspace whose tasks were verified in docker. Of each task, its gold patch, no patch, a part of
gold and a wrong fix (see `variants`) are graded by `swequarry`'s grader, by `swebench eval` on the exported
row, and by `harbor run` on the exported task. Prints each difference with the rule that explains it (see
`differences`); ends with 1 where one has none. Resumable: what a tool said of a patch of a task lies in
DIR/verdicts and isn't asked again; what the machinery broke is.
"""

import argparse
import asyncio
import json
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.differences import Pair, explain
from benchmarks.harnesses import Program, Told, harbor, harbor_run, swebench, swebench_eval
from benchmarks.strength import in_turn
from benchmarks.toys import command
from benchmarks.variants import KINDS, Variant, variants
from swequarry.config import Settings
from swequarry.errors import InputError
from swequarry.pipeline.graded_task import open_task
from swequarry.pipeline.grader import Graded, Grader
from swequarry.pipeline.known_item import house_of_last_run
from swequarry.pipeline.reporting import last_run, tasks_of
from swequarry.pipeline.stages.house import House
from swequarry.pipeline.workspace import Workspace
from swequarry.records import Task, TestId, sha256_hex
from swequarry.verify.grade import Verdict

TAG = "swequarry/bench-{instance_id}:latest"
TOOLS = ("ours", "swebench", "harbor")


def main() -> None:
    """Ask what isn't known yet, then print the table; ends with 1 where a difference has no rule."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("tasks", nargs="*", help="only these tasks")
    options.add_argument("--workspace", type=Path, required=True)
    options.add_argument("--sample", type=int, help="only so many tasks, repositories in turn")
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    house = house_of_last_run(Workspace.open(Settings(workspace=given.workspace), create=False))
    if house.backend.name != "docker":
        raise InputError("the tasks of this workspace weren't verified in docker, so they have no images")
    tasks = in_turn(tasks_of(house.workspace, last_run(house.workspace).number))
    chosen = [task for task in tasks if not given.tasks or task.instance_id in given.tasks][: given.sample]
    bench = Bench.of(house, given.workers)
    table = [line for task in chosen for line in bench.lines(task)]
    sys.exit(0 if _told(table) else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A patch of a task and what each tool said of it, with the rule for each that differs from ours."""

    task: str
    variant: Variant
    ours: Graded
    theirs: Mapping[str, Told]
    rules: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A workspace with what grading its tasks takes; `kept` is where answers lie."""

    house: House
    kept: Path
    workers: int
    swebench: Program
    harbor: Program

    @classmethod
    def of(cls, house: House, workers: int) -> "Bench":
        """Return the bench of a workspace; installs what is missing."""
        kept = house.workspace.root / "verdicts"
        home = kept / "home"
        return cls(
            house=house,
            kept=kept,
            workers=workers,
            swebench=swebench(home),
            harbor=harbor(kept / "tools", home),
        )

    def lines(self, task: Task) -> list[Line]:
        """Return what all tools say of a task's patches, in the order of their kinds."""
        patches = variants(open_task(self.house, task.instance_id))
        answers = {tool: self._answers(task, patches, tool) for tool in TOOLS}
        row = json.loads(self._rows(task).read_text().splitlines()[0])
        dropped = frozenset(TestId(entry["id"]) for entry in row["dropped_tests"])
        ordered = sorted(patches, key=lambda one: KINDS.index(one.kind))
        return [
            self._line(task, one, {tool: said[one.kind] for tool, said in answers.items()}, dropped)
            for one in ordered
        ]

    def _answers(self, task: Task, patches: Sequence[Variant], tool: str) -> dict[str, dict[str, Any]]:
        """Return what a tool says by the kind of patch; asks only what isn't known."""
        found = {one.kind: known for one in patches if (known := self._known(task, one, tool)) is not None}
        unknown = [one for one in patches if one.kind not in found]
        if unknown:
            print(task.instance_id, tool, *(one.kind for one in unknown), file=sys.stderr, flush=True)
            for one, answer in zip(unknown, self._asked(task, unknown, tool), strict=True):
                found[one.kind] = answer
                if answer.get("resolved", True) is not None and answer.get("verdict") != "infra_failed":
                    self._keep(task, one, tool, answer)
        return found

    def _line(
        self, task: Task, variant: Variant, answers: Mapping[str, dict[str, Any]], dropped: frozenset[TestId]
    ) -> Line:
        ours = Graded.from_json(answers["ours"])
        theirs = {tool: Told(**answer) for tool, answer in answers.items() if tool != "ours"}
        verifier = task.verifier
        rules = {}
        for tool, said in theirs.items():
            lost = dropped if tool == "swebench" else frozenset()
            pair = Pair(ours=ours, tool=tool, theirs=said, dropped=lost)
            rules[tool] = explain(pair, verifier.fail_to_pass, verifier.pass_to_pass)
        return Line(task=task.instance_id, variant=variant, ours=ours, theirs=theirs, rules=rules)

    def _place(self, task: Task, variant: Variant, tool: str) -> Path:
        what = f"{task.content_hash()[:16]}-{sha256_hex(variant.patch)[:16]}-{tool}.json"
        return self.kept / task.instance_id / f"{variant.kind}-{what}"

    def _known(self, task: Task, variant: Variant, tool: str) -> dict[str, Any] | None:
        place = self._place(task, variant, tool)
        if not place.is_file():
            return None
        answer: dict[str, Any] = json.loads(place.read_bytes())
        return answer

    def _keep(self, task: Task, variant: Variant, tool: str, answer: dict[str, Any]) -> None:
        place = self._place(task, variant, tool)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_suffix(".part").write_text(json.dumps(answer, indent=1))
        place.with_suffix(".part").replace(place)

    def _asked(self, task: Task, patches: Sequence[Variant], tool: str) -> list[dict[str, Any]]:
        if tool == "ours":
            return [found.to_json() for found in asyncio.run(self._graded(task, patches))]
        rows = self._rows(task)
        # ids that differ by kind, in the alphabet of names of images
        named = {f"{task.instance_id}-{one.kind}": one.patch for one in patches}
        place = self.kept / task.instance_id / f"{tool}-run"
        shutil.rmtree(place, ignore_errors=True)
        if tool == "swebench":
            said = swebench_eval(self.swebench, rows, named, place, workers=self.workers)
        else:
            folder = rows.parents[2] / "harbor/tasks" / task.instance_id
            said = harbor_run(self.harbor, folder, named, place, workers=self.workers)
        return [asdict(said[name]) for name in named]

    async def _graded(self, task: Task, patches: Sequence[Variant]) -> list[Graded]:
        async with Grader(self.house, workers=self.workers) as grader:
            calls = (grader.grade(task.instance_id, one.patch) for one in patches)
            return await asyncio.gather(*calls)

    def _rows(self, task: Task) -> Path:
        """Return the exported row of a task; builds its image and exports it where that wasn't done."""
        folder = self.kept / task.instance_id / f"export-{task.content_hash()[:16]}"
        rows = folder / "swebench/data/strings.jsonl"
        if not (folder / "done").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            root = str(self.house.workspace.root)
            words = ("images", "build", task.instance_id, "-w", root, "--json", "--tag", TAG)
            (folder / "images.json").write_text(command(*words))
            for form in ("swebench", "harbor"):
                place = ("export", str(folder / form), "--format", form, "-w", root)
                images = ("--images", str(folder / "images.json"), "--include-statement-from-commits")
                command(*place, *images)
            self._only(rows, task)
            (folder / "done").touch()
        return rows

    @staticmethod
    def _only(rows: Path, task: Task) -> None:
        """Leave the row of one task in a file of them."""
        lines = [line for line in rows.read_text().split("\n") if line]
        own = [line for line in lines if json.loads(line)["instance_id"] == task.instance_id]
        if not own:
            raise InputError(f"{task.instance_id} isn't in the export; its manifest says why")
        rows.write_text(own[0] + "\n")


def _told(table: Sequence[Line]) -> bool:
    """Print the verdicts, each difference and the counts; return whether every difference has a rule."""
    print("task", "patch", "ours", "swebench", "harbor", "made by", sep="\t")
    counts: Counter[str] = Counter()
    for line in table:
        said = [_word(line.theirs[tool].resolved) for tool in ("swebench", "harbor")]
        print(line.task, line.variant.kind, line.ours.verdict.value, *said, line.variant.rule, sep="\t")
        counts.update(rule or "UNEXPLAINED" for rule in line.rules.values())
    for line in table:
        for tool, rule in line.rules.items():
            if rule != "same":
                _difference(line, tool, rule)
    tasks = len({line.task for line in table})
    print(f"{tasks} tasks, {len(table)} patches, {counts.total()} comparisons: {dict(counts)}")
    resolved = [line.ours.verdict is Verdict.RESOLVED for line in table if line.variant.kind == "gold"]
    print(f"gold resolved: {sum(resolved)} of {len(resolved)}")
    return not counts["UNEXPLAINED"] and not counts["machinery"] and all(resolved)


def _difference(line: Line, tool: str, rule: str | None) -> None:
    ours, theirs = line.ours, line.theirs[tool]
    print(f"{line.task} {line.variant.kind} ({line.variant.rule}): {rule or 'UNEXPLAINED'}")
    print(f"  ours: {ours.verdict.value} ({ours.reason.value}) {ours.message}")
    print(f"  {tool}: {_word(theirs.resolved)} {theirs.detail}")
    for test, outcome in ours.failed[:5]:
        print(f"  {test}: {outcome.value}")


def _word(resolved: bool | None) -> str:  # noqa: FBT001 - what a tool said
    return "can't say" if resolved is None else "resolved" if resolved else "not_resolved"


if __name__ == "__main__":
    main()

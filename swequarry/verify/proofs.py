"""Prove canaries and held-out twins on the gold patch, so that what is kept says something about candidates.

A canary stays for the tests that failed with gold, a twin for those that passed with gold in every run. What
none of that can be shown for isn't kept, and the share of FAIL_TO_PASS tests with a canary says how many.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from swequarry.delta import FileContent, TreeDelta
from swequarry.records import (
    BlobHash,
    Canaries,
    CheckFile,
    HeldOut,
    TestId,
    TestOutcome,
    sha256_hex,
)
from swequarry.verify.canaries import Way, canary, ways
from swequarry.verify.candidate import Case, overlaid
from swequarry.verify.rig import Rig
from swequarry.verify.targets import path_bytes
from swequarry.verify.testsource import TestSource, file_of, function_name
from swequarry.verify.twins import Site, probe, renamed, sites, told_value, twin, unlike

_SEED = 40_000
_SITES_TRIED = 3
Put = Callable[[bytes], BlobHash]


@dataclass(slots=True)
class _File:
    """A hidden test file and the names of its functions that FAIL_TO_PASS names, with their ids."""

    path: str
    source: TestSource
    tests: dict[str, list[TestId]] = field(default_factory=dict)


def prove(rig: Rig, case: Case, put_blob: Put, *, turns: int = 2, runs: int = 2) -> Case:
    """Return the case with its canaries and twins; costs about ten runs of its tests.

    Raises:
        SandboxError: the machinery broke.
        GitError: git can't write the files of a tree.
    """
    rig, _ = rig.surveyed(case.recipe)
    gold = rig.bench.delta(case.base, case.after)
    canaries = make_canaries(rig, case, gold, put_blob)
    return replace(case, canaries=canaries, held_out=make_held_out(rig, case, gold, put_blob, turns, runs))


def make_canaries(rig: Rig, case: Case, gold: TreeDelta, put_blob: Put) -> Canaries:
    """Return the canaries that fail on gold; a test whose first way doesn't gets the next one."""
    files = _files(case, gold)
    left = {file.path: {name: list(ways(file.source, name)) for name in file.tests} for file in files}
    made, failing = _canary_files(files, left), set[TestId]()
    while made:
        run = rig.run(_on_top(gold, made), case.test_files, case.recipe, _SEED)
        failing = {r.id for r in run.report.results if r.outcome is TestOutcome.FAILED}
        if not _drop_failed_ways(files, left, failing):
            break
        made = _canary_files(files, left)
    wrong = {n for f in files for name, ids in f.tests.items() if left[f.path][name] for n in ids}
    must_fail = sorted(wrong & failing) if made else []
    return Canaries(
        files=tuple(CheckFile(path=path, content=put_blob(data)) for path, data in sorted(made.items())),
        must_fail=tuple(must_fail),
        covered=len(must_fail),
        fail_to_pass=len(case.fail_to_pass),
    )


def _drop_failed_ways(
    files: list[_File], left: dict[str, dict[str, list[Way]]], failing: set[TestId]
) -> bool:
    """Take away the way of each function of which no test failed; tell whether there was one."""
    moved = False
    for file in files:
        for name, ids in file.tests.items():
            if left[file.path][name] and not failing.intersection(ids):
                del left[file.path][name][0]
                moved = True
    return moved


def _canary_files(files: list[_File], left: Mapping[str, Mapping[str, list[Way]]]) -> dict[str, bytes]:
    made = {}
    for file in files:
        chosen = {name: offered[0] for name, offered in left[file.path].items() if offered}
        data = canary(file.source, chosen) if chosen else None
        if data is not None:
            made[file.path] = data
    return made


def make_held_out(rig: Rig, case: Case, gold: TreeDelta, put_blob: Put, turns: int, runs: int) -> HeldOut:
    """Return twins of every test, up to `turns` of each, that do on gold what they should in each run.

    Half of the files want what gold gives, half want something else.
    """
    made = [twins for turn in range(1, turns + 1) for twins in _measured(rig, case, gold, turn)]
    contents = {twins.path: twins.data for twins in made}
    outcomes: list[dict[TestId, TestOutcome]] = []
    for number in range(runs if made else 0):
        run = rig.run(_on_top(gold, contents), sorted(contents), case.recipe, _SEED + number)
        outcomes.append({result.id: result.outcome for result in run.report.results})
    kept: dict[bool, list[tuple[TestId, TestId]]] = {True: [], False: []}
    for twins in made:
        meant = TestOutcome.PASSED if twins.right else TestOutcome.FAILED
        kept[twins.right] += [
            pair for pair in twins.pairs() if all(seen.get(pair[0]) is meant for seen in outcomes)
        ]
    return HeldOut(
        files=tuple(
            CheckFile(path=twins.path, content=put_blob(twins.data))
            for twins in sorted(made, key=lambda twins: twins.path)
            if any(pair in kept[twins.right] for pair in twins.pairs())
        ),
        twins=tuple(sorted(kept[True])),
        must_fail=tuple(sorted(twin for twin, _ in kept[False])),
        runs=runs,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Twins:
    """A file of twins; `right` tells whether it wants what gold gives."""

    of: _File
    data: bytes
    names: tuple[str, ...]
    right: bool

    @property
    def path(self) -> str:
        return _beside(self.of.path, self.data)

    def pairs(self) -> list[tuple[TestId, TestId]]:
        ids = [test for name in self.names for test in self.of.tests[name]]
        return [(renamed(test, self.of.path, self.path), test) for test in ids]


def _measured(rig: Rig, case: Case, gold: TreeDelta, turn: int) -> list[_Twins]:
    """Return twins of each file with the values that gold gives, and with others."""
    made = []
    for file in _files(case, gold):
        left = {name: _in_turn(sites(file.source, name, turn), turn) for name in file.tests}
        chosen: dict[str, Site] = {}
        values: dict[str, list[tuple[object, object]]] = {}
        for _ in range(_SITES_TRIED):
            tried = {name: s.pop(0) for name, s in left.items() if s and name not in values}
            told = _told(rig, case, gold, file, tried)
            values |= told
            chosen |= {name: tried[name] for name in told}
        wrong = {name: [(key, unlike(value)) for key, value in pairs] for name, pairs in values.items()}
        for wanted, right in ((values, True), (wrong, False)):
            data = twin(file.source, list(chosen.values()), wanted) if chosen else None
            if data is not None:
                made.append(_Twins(of=file, data=data, names=tuple(sorted(chosen)), right=right))
    return made


def _told(
    rig: Rig, case: Case, gold: TreeDelta, file: _File, tried: Mapping[str, Site]
) -> dict[str, list[tuple[object, object]]]:
    data = probe(file.source, list(tried.values())) if tried else None
    if data is None:
        return {}
    path = _beside(file.path, data)
    run = rig.run(_on_top(gold, {path: data}), [path], case.recipe, _SEED)
    details = {result.id: result.detail for result in run.report.results}
    values: dict[str, list[tuple[object, object]]] = {}
    for name in tried:
        for test in file.tests[name]:
            pair = told_value(details.get(renamed(test, file.path, path), ""))
            if pair is not None:
                values.setdefault(name, []).append(pair)
    return values


def _in_turn(found: list[Site], turn: int) -> list[Site]:
    """Begin with another site in each turn, so that twins of one test look at different things."""
    at = (turn - 1) % len(found) if found else 0
    return found[at:] + found[:at]


def _files(case: Case, gold: TreeDelta) -> list[_File]:
    found: dict[str, _File] = {}
    for test in case.fail_to_pass:
        path = file_of(test, case.test_files)
        content = gold.files.get(path_bytes(path)) if path is not None else None
        source = TestSource.parse(content.data) if content is not None else None
        if path is None or source is None:
            continue
        file = found.setdefault(path, _File(path=path, source=source))
        if file.source.functions([function_name(test)]):
            file.tests.setdefault(function_name(test), []).append(test)
    return [found[path] for path in sorted(found)]


def _beside(path: str, data: bytes) -> str:
    """Return a name in the same folder that follows from what the file holds, which nobody has seen."""
    return f"{path[: path.rfind('/') + 1]}test_{sha256_hex(path.encode() + data)[:12]}.py"


def _on_top(gold: TreeDelta, files: Mapping[str, bytes]) -> TreeDelta:
    own = {path_bytes(path): FileContent(data=data) for path, data in files.items()}
    return overlaid(gold, TreeDelta(files=own))

"""Make the held-out tests of a task: twins with other inputs, and copies, under names that nobody has seen.

They come in pairs of files. In each, some tests want what gold gives and the others something else, drawn by
what the gold patch holds; in its partner it's the other way round. Code that reads its tests, or takes the
judging over, can't know which is which: it passes what nobody can pass, or fails what the fix passes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from swequarry.delta import TreeDelta
from swequarry.records import BlobHash, CheckFile, HeldOut, TestId, TestOutcome, sha256_hex
from swequarry.verify.canaries import Way, canary_edits, ways
from swequarry.verify.candidate import Case
from swequarry.verify.hidden import HiddenFile, beside, on_top, without_originals
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunResult
from swequarry.verify.testsource import Edit
from swequarry.verify.twins import Site, probe, raising_inputs, renamed, sites, told_value, twin, unlike

_SEED = 40_001
_SITES_TRIED = 3
Values = Mapping[str, Sequence[tuple[object, object]]]
"""By function: (parameters, value) as measured or wanted."""


@dataclass(slots=True)
class Told:
    """What gold said in one turn about a file: by function, the assertion asked and its values."""

    of: HiddenFile
    turn: int
    chosen: dict[str, Site] = field(default_factory=dict)
    values: dict[str, list[tuple[object, object]]] = field(default_factory=dict)


@dataclass(slots=True)
class Probes:
    """Files that ask gold for values, and the answers."""

    files: dict[str, bytes] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    _asked: list[tuple[str, Told, dict[str, Site]]] = field(default_factory=list)

    def ask(self, told: Told, tried: dict[str, Site]) -> None:
        """Add the probe of some assertions."""
        data = probe(told.of.source, list(tried.values())) if tried else None
        if data is not None:
            path = beside(told.of.path, data)
            self.files[path] = data
            self._asked.append((path, told, tried))

    def answer(self, run: RunResult) -> None:
        """Take the values from a run; of several assertions of a test the first that tells is taken."""
        details = {result.id: result.detail for result in run.report.results}
        for path, told, tried in self._asked:
            for name, site in tried.items():
                tests = [renamed(test, told.of.path, path) for test in told.of.tests[name]]
                pairs = [pair for test in tests if (pair := told_value(details.get(test, ""))) is not None]
                if pairs and name not in told.values:
                    told.values[name], told.chosen[name] = pairs, site


def make_probes(files: Sequence[HiddenFile], turns: int) -> Probes:
    """Return the probes of each file: for each turn a few, each with another assertion of every test."""
    probes = Probes()
    for turn in range(1, turns + 1):
        for file in files:
            told = Told(of=file, turn=turn)
            probes.told.append(told)
            found = {name: _in_turn(sites(file.source, name, turn), turn) for name in file.tests}
            for at in range(_SITES_TRIED):
                probes.ask(told, {name: s[at] for name, s in found.items() if at < len(s)})
    return probes


def _in_turn(found: list[Site], turn: int) -> list[Site]:
    """Begin with another site in each turn, so that twins of one test look at different things."""
    at = (turn - 1) % len(found) if found else 0
    return found[at:] + found[:at]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Half:
    """One of two partner files; `right` are the functions in it that want what gold gives."""

    of: HiddenFile
    data: bytes
    right: frozenset[str]

    @property
    def path(self) -> str:
        return beside(self.of.path, self.data)

    def named(self, test: TestId) -> TestId:
        return renamed(test, self.of.path, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Two partner files, the functions that are tests in both, and whether their inputs are others."""

    halves: tuple[_Half, _Half]
    names: tuple[str, ...]
    other_inputs: bool = True

    def rows(self) -> list[tuple[TestId, TestId, TestId]]:
        """Return (the one that wants what gold gives, the one that doesn't, the original) of each test."""
        one, other = self.halves
        return [
            (first.named(test), second.named(test), test)
            for name in self.names
            for first, second in [(one, other) if name in one.right else (other, one)]
            for test in one.of.tests[name]
        ]


def make_held_out(
    rig: Rig,
    case: Case,
    gold: TreeDelta,
    told: Sequence[Told],
    settled: Mapping[str, Mapping[str, Way]],
    put_blob: Callable[[bytes], BlobHash],
    runs: int,
) -> HeldOut:
    """Return the twins and copies that do on gold what they should in each of some runs.

    Raises:
        SandboxError: the machinery broke.
    """
    pairs = [pair for turn in told if (pair := _twins(case, turn)) is not None]
    files = {turn.of.path: turn.of for turn in told}
    for path, file in files.items():
        own = settled.get(path, {})
        pairs += [*_copies(case, file, own), *_copies(case, file, _negated(file, own)), *_raising(case, file)]
    contents = {half.path: half.data for pair in pairs for half in pair.halves}
    alone = without_originals(rig.bench, case, gold)
    outcomes: list[dict[TestId, TestOutcome]] = []
    for number in range(runs if pairs else 0):
        run = rig.run(on_top(alone, contents), sorted(contents), case.recipe, _SEED + number)
        outcomes.append({result.id: result.outcome for result in run.report.results})
    return _kept(pairs, contents, outcomes, put_blob)


def _kept(
    pairs: Sequence[_Pair],
    contents: Mapping[str, bytes],
    outcomes: Sequence[Mapping[TestId, TestOutcome]],
    put_blob: Callable[[bytes], BlobHash],
) -> HeldOut:
    rows = [row for pair in pairs for row in pair.rows()]
    passing = {t for t, _, _ in rows if all(seen.get(t) is TestOutcome.PASSED for seen in outcomes)}
    failing = {t for _, t, _ in rows if all(seen.get(t) is TestOutcome.FAILED for seen in outcomes)}
    used = [row for row in rows if row[0] in passing]
    opposites = sorted((wrong, right) for right, wrong, _ in used if wrong in failing)
    kept = {right for right, _, _ in used}
    paths = {
        half.path
        for pair in pairs
        if any(right in kept for right, _, _ in pair.rows())
        for half in pair.halves
    }
    return HeldOut(
        files=tuple(CheckFile(path=path, content=put_blob(contents[path])) for path in sorted(paths)),
        twins=tuple(sorted({(right, origin) for right, _, origin in used})),
        must_fail=tuple(wrong for wrong, _ in opposites),
        opposites=tuple(opposites),
        other_inputs=tuple(
            sorted(
                {right for pair in pairs if pair.other_inputs for right, _, _ in pair.rows() if right in kept}
            )
        ),
        runs=len(outcomes),
    )


def _twins(case: Case, told: Told) -> _Pair | None:
    """Return partner files of twins: with the values that gold gives, and with others."""
    source, chosen = told.of.source, list(told.chosen.values())
    up = {name: _drawn(case, told.of, name, f"up {told.turn}") for name in told.values}
    wrong = {n: [(key, unlike(v, up=up[n])) for key, v in pairs] for n, pairs in told.values.items()}
    first = frozenset(name for name in told.values if _drawn(case, told.of, name, f"twin {told.turn}"))
    made = []
    for right in (first, frozenset(told.values) - first):
        wanted = {name: told.values[name] if name in right else wrong[name] for name in told.values}
        data = twin(source, chosen, wanted) if chosen else None
        if data is None:
            return None
        made.append(_Half(of=told.of, data=data, right=right))
    return _Pair(halves=(made[0], made[1]), names=tuple(sorted(told.values)))


def _negated(file: HiddenFile, settled: Mapping[str, Way]) -> dict[str, Way]:
    """Return another way for the tests that have it: nobody can tell a condition from its opposite."""
    offered = {name for name in file.tests if Way.NEGATED in ways(file.source, name)}
    return {name: Way.NEGATED for name in sorted(offered) if settled.get(name) is not Way.NEGATED}


def _raising(case: Case, file: HiddenFile) -> Sequence[_Pair]:
    """Return partner files, if any, of the tests that want an error, with other inputs."""
    inputs = {name: raising_inputs(file.source, name) for name in file.tests}
    chosen = {n: Way.RAISES for n, edits in inputs.items() if edits and Way.RAISES in ways(file.source, n)}
    return _copies(case, file, chosen, [edit for name in chosen for edit in inputs[name]])


def _copies(
    case: Case, file: HiddenFile, chosen: Mapping[str, Way], inputs: Sequence[Edit] = ()
) -> Sequence[_Pair]:
    """Return partner files, if any, of some tests: as they are, and made wrong in the way chosen for each."""
    what = f"copy {sorted(set(chosen.values()))} {len(inputs)}"
    first = frozenset(name for name in chosen if _drawn(case, file, name, what))
    made = []
    for right in (first, frozenset(chosen) - first):
        wrong = {name: way for name, way in chosen.items() if name not in right}
        edits = [*canary_edits(file.source, wrong), *inputs, *file.source.without_tests(chosen)]
        data = file.source.edited(edits)
        if data is None or not chosen:
            return ()
        made.append(_Half(of=file, data=data, right=right))
    return (_Pair(halves=(made[0], made[1]), names=tuple(sorted(chosen)), other_inputs=bool(inputs)),)


def _drawn(case: Case, file: HiddenFile, name: str, what: str) -> bool:
    """Draw lots by what nobody knows who has no gold patch."""
    return int(sha256_hex(f"{case.after} {file.path} {name} {what}".encode())[0], 16) % 2 == 0

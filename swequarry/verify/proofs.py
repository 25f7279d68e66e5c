"""Prove canaries and held-out twins on the gold patch, so that what is kept says something about candidates.

A canary stays for the tests that failed with gold, a twin for those that passed with gold in every run. What
none of that can be shown for isn't kept, and the share of FAIL_TO_PASS tests with a canary says how many.
Files made for proofs hold the tests of FAIL_TO_PASS alone: whoever has a canary only in the company of the
other tests has none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from swequarry.delta import TreeDelta
from swequarry.records import BlobHash, Canaries, CheckFile, TestId, TestOutcome
from swequarry.verify.canaries import Way, canary, canary_edits, ways
from swequarry.verify.candidate import Case
from swequarry.verify.heldout import Probes, make_held_out, make_probes
from swequarry.verify.hidden import HiddenFile, hidden_files, on_top
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunResult

_SEED = 40_000
Put = Callable[[bytes], BlobHash]
Chosen = Mapping[str, Mapping[str, Way]]
"""By file and function: how its expectations are made wrong."""


def prove(rig: Rig, case: Case, put_blob: Put, *, turns: int = 2, runs: int = 2) -> Case:
    """Return the case with its canaries and twins; costs three runs of its FAIL_TO_PASS tests or a few more.

    `turns` bounds the twins of one test, `runs` are those that each of them must do right in.

    Raises:
        SandboxError: the machinery broke.
        GitError: git can't write the files of a tree.
    """
    rig, _ = rig.surveyed(case.recipe)
    gold = rig.bench.delta(case.base, case.after)
    files = hidden_files(case, gold)
    probes = make_probes(files, turns)
    search = _Search(rig=rig, case=case, gold=gold, files=files)
    search.look(probes)
    held_out = make_held_out(rig, case, gold, probes.told, search.settled, put_blob, runs)
    return replace(case, canaries=search.canaries(put_blob), held_out=held_out)


@dataclass(slots=True)
class _Search:
    """The search for a way of making each test wrong that is seen to fail on gold."""

    rig: Rig
    case: Case
    gold: TreeDelta
    files: list[HiddenFile]
    settled: dict[str, dict[str, Way]] = field(default_factory=dict)
    failing: set[TestId] = field(default_factory=set)
    left: dict[str, dict[str, list[Way]]] = field(default_factory=dict)

    def look(self, probes: Probes) -> None:
        """Try ways until each function has one or none is left; the first run answers the probes as well."""
        self.left = {f.path: {name: list(ways(f.source, name)) for name in f.tests} for f in self.files}
        asked: Mapping[str, bytes] = probes.files
        while True:
            tried = {path: {n: w[0] for n, w in names.items() if w} for path, names in self.left.items()}
            made = {f.path: d for f in self.files if (d := _reduced(f, tried[f.path])) is not None}
            if not made and not asked:
                return
            everything = {**made, **asked}
            run = self.rig.run(on_top(self.gold, everything), sorted(everything), self.case.recipe, _SEED)
            probes.answer(run)
            self._settle(tried, run, alone=not asked)
            asked = {}

    def _settle(self, tried: Chosen, run: RunResult, *, alone: bool) -> None:
        """Keep the ways of which a test failed; take away those whose tests did something else.

        Tests that didn't come to run beside the probes are tried again without them.
        """
        outcomes = {result.id: result.outcome for result in run.report.results}
        for file in self.files:
            for name, way in tried[file.path].items():
                seen = {test: outcomes.get(test) for test in file.tests[name]}
                failed = {test for test, outcome in seen.items() if outcome is TestOutcome.FAILED}
                if failed:
                    self.failing |= failed
                    self.settled.setdefault(file.path, {})[name] = way
                    self.left[file.path][name] = []
                elif alone or TestOutcome.PASSED in seen.values():
                    del self.left[file.path][name][0]

    def canaries(self, put_blob: Put) -> Canaries:
        """Return the whole test files with what was settled."""
        made = []
        for file in self.files:
            data = canary(file.source, self.settled.get(file.path, {}))
            if data is not None and file.path in self.settled:
                made.append(CheckFile(path=file.path, content=put_blob(data)))
        paths = {file.path for file in made}
        lost = {
            test
            for file in self.files
            if file.path not in paths
            for tests in file.tests.values()
            for test in tests
        }
        must_fail = tuple(sorted(self.failing - lost))
        return Canaries(
            files=tuple(made),
            must_fail=must_fail,
            covered=len(must_fail),
            fail_to_pass=len(self.case.fail_to_pass),
        )


def _reduced(file: HiddenFile, chosen: Mapping[str, Way]) -> bytes | None:
    """Return a canary of some functions without the other tests; None where there is none."""
    if not chosen:
        return None
    return file.source.edited([*canary_edits(file.source, chosen), *file.source.without_tests(chosen)])

"""The rules about a proposed test's runs: it fails before for the issue's reason and passes after.

Every run is of the proposed file alone, in a fresh copy of the world without a network, and watched for what
the file touches. The first two runs tell most; the others are made only for what these let through.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from swequarry.delta import FileContent, TreeDelta
from swequarry.records import Perturbation, Recipe, TestId, TestOutcome, TestResult
from swequarry.verify.candidate import overlaid
from swequarry.verify.coverage_of_gold import Trace, read_trace, tracing_tap
from swequarry.verify.effects import Effects, read_effects, watching_tap
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.passes import RunProblem
from swequarry.verify.perturbations import Clock, conditions
from swequarry.verify.rig import Rig
from swequarry.verify.runner import RunOptions, RunResult
from testwriter.interface import Proposal, Subject
from testwriter.proof.codes import Refusal
from testwriter.proof.text import Finding

_SEED = 70_000
"""The same runs have the same seed before and after: a test that tells states by the seed tells nothing."""
_MOST_ALONE = 5
"""Tests of a file that are run each by itself; of more the last and the first."""
_IMPORTS = frozenset({"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError"})
_NOT_MET = re.compile(r"(?:AssertionError\b|assert\b|Failed: DID NOT (?:RAISE|WARN)|E +assert)")
_CLASS = re.compile(r"([A-Za-z_][\w.]*)\s*(?::|\(|$)")
_SPOILT = frozenset({RunProblem.UNSOUND_REPORT, RunProblem.OUTPUT_LIMIT, RunProblem.DISK_LIMIT})
_TAIL = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """Where a proposal is run: `before` and `after` are deltas to the rig's world, `files` what gold changes.

    `runs` is the number of runs after the fix, two at least.
    """

    rig: Rig
    recipe: Recipe
    before: TreeDelta
    after: TreeDelta
    files: tuple[ChangedFile, ...]
    clock: Clock
    runs: int = 4


@dataclass(slots=True)
class Seen:
    """What the runs of one proposal showed."""

    tests: tuple[TestId, ...] = ()
    failing: tuple[tuple[TestId, str], ...] = ()
    before: int = 0
    after: int = 0
    trace: Trace | None = None
    output: str = ""


def with_file(delta: TreeDelta, proposal: Proposal) -> TreeDelta:
    """Return a delta with a proposed file on top."""
    own = {proposal.path.encode(): FileContent(data=proposal.text.encode())}
    return overlaid(delta, TreeDelta(files=own))


def plain(detail: str) -> str:
    """Return the last line of an error without addresses, which are other ones in every run."""
    return re.sub(r"0x[0-9a-fA-F]+", "0x", detail)


def reason_of(detail: str, subject: Subject) -> Finding | None:
    """Return what is wrong with the last line of an error before the fix; None where it's the issue's own.

    An assertion that doesn't hold is; so is an exception whose class the issue names, unless that says only
    that something couldn't be imported.
    """
    line = detail.strip()
    if _NOT_MET.match(line):
        return None
    match = _CLASS.match(line)
    name = match[1].rsplit(".", 1)[-1] if match else ""
    if name in _IMPORTS:
        return Refusal.BROKEN_BEFORE, line
    if name and re.search(rf"\b{re.escape(name)}\b", f"{subject.title}\n{subject.statement}"):
        return None
    return Refusal.FOREIGN_REASON, line or "no error was told"


@dataclass(slots=True, kw_only=True)
class Trials:
    """The runs of one proposal. `turns` is asked first: it tells most, and `holds` costs most."""

    stand: Stand
    proposal: Proposal
    subject: Subject
    seen: Seen = field(default_factory=Seen)

    def turns(self) -> list[Finding]:
        """Return the rules that one run in each state breaks; `seen` has what they showed.

        Raises:
            SandboxError: the machinery broke.
        """
        return list(self.first_before()) or list(self.first_after())

    def holds(self) -> list[Finding]:
        """Return the rules that more runs break, under whatever should change nothing.

        Raises:
            SandboxError: the machinery broke.
        """
        return list(self.second_before()) or list(self.more_after())

    def run(
        self,
        delta: TreeDelta,
        seed: int,
        recipe: Recipe | None = None,
        more: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    ) -> RunResult:
        """Run the proposed file once; the tail of what it printed is kept where something failed."""
        stand = self.stand
        whole = with_file(delta, self.proposal)
        result = stand.rig.run(whole, (self.proposal.path,), recipe or stand.recipe, seed, more)
        if any(each.outcome is not TestOutcome.PASSED for each in result.report.results) or not (
            result.report.results
        ):
            self.seen.output = result.output[-_TAIL:].decode("utf-8", "replace")
        return result

    def watched(self, delta: TreeDelta, seed: int, *, traced: bool) -> tuple[RunResult, list[Finding]]:
        """Run once and note what the file touches, and what of gold it reaches."""
        tap, mark = watching_tap((self.proposal.path,))
        taps, trace_mark = [tap], ""
        if traced and any(file.is_python for file in self.stand.files):
            tracing, trace_mark = tracing_tap(self.stand.files)
            taps.append(tracing)
        run = self.run(delta, seed, more=RunOptions(taps=tuple(taps)))
        if trace_mark:
            self.seen.trace = read_trace(run, trace_mark, self.stand.files)
        return run, list(_touched(read_effects(run, mark)))

    def first_before(self) -> Iterator[Finding]:
        """Yield what the first run before the fix breaks, and note the tests that it has."""
        run, effects = self.watched(self.stand.before, _SEED, traced=False)
        self.seen.before += 1
        yield from effects
        yield from self.judged_before(run)

    def second_before(self) -> Iterator[Finding]:
        """Yield what another run before the fix breaks, under another seed."""
        run = self.run(self.stand.before, _SEED + 1)
        self.seen.before += 1
        for code, what in self.judged_before(run):
            yield (Refusal.UNSTABLE if code is Refusal.PASSES_BEFORE else code), what

    def judged_before(self, run: RunResult) -> Iterator[Finding]:
        """Yield what is wrong with a run before the fix: all its tests must fail for the issue's reason."""
        results = {result.id: result for result in run.report.results}
        for path, detail in run.report.collection_errors:
            yield Refusal.BROKEN_BEFORE, f"{path}: {detail}"
        for path, detail in run.report.collection_skips:
            yield Refusal.SKIPS, f"{path}: {detail}"
        if run.report.collection_errors or run.report.collection_skips:
            return
        if not results:
            yield Refusal.NO_TEST, "no test was collected" if not run.problems else str(run.problems[0])
        for test, result in results.items():
            found = self.judged_failure(result, suspect=test in run.suspects)
            if found is not None:
                yield found[0], f"{test}: {found[1]}"
        self.seen.failing = tuple((test, plain(result.detail)) for test, result in sorted(results.items()))
        self.seen.tests = tuple(sorted(results))

    def judged_failure(self, result: TestResult, *, suspect: bool) -> Finding | None:
        """Return what is wrong with the end of one test before the fix; a suspect may have met a limit."""
        match result.outcome:
            case TestOutcome.PASSED:
                return Refusal.PASSES_BEFORE, "passed"
            case TestOutcome.FAILED if suspect:
                return Refusal.FOREIGN_REASON, f"it may be a limit: {result.detail}"
            case TestOutcome.FAILED:
                return reason_of(result.detail, self.subject)
            case TestOutcome.SKIPPED | TestOutcome.XFAILED | TestOutcome.XPASSED:
                return Refusal.SKIPS, result.outcome.value
            case TestOutcome.ERROR:
                return Refusal.BROKEN_BEFORE, result.detail
            case _:
                return Refusal.FOREIGN_REASON, result.outcome.value

    def first_after(self) -> Iterator[Finding]:
        """Yield what the first run after the fix breaks, and note what of the fix it reaches."""
        run, effects = self.watched(self.stand.after, _SEED, traced=True)
        self.seen.after += 1
        yield from effects
        yield from self.judged_after(run, self.seen.tests, Refusal.FAILS_AFTER)

    def more_after(self) -> Iterator[Finding]:
        """Yield what runs after the fix break that differ in what should change nothing."""
        for number, (what, given) in enumerate(_PERTURBED[: max(1, self.stand.runs - 1)], start=1):
            how = conditions(given, self.stand.clock, _SEED, number)
            recipe = how.recipe(self.stand.recipe)
            run = self.run(self.stand.after, how.seed, recipe, RunOptions(taps=how.taps))
            self.seen.after += 1
            yield from self.judged_after(run, self.seen.tests, what)
        for number, test in enumerate(_alone(self.seen.tests)):
            others = frozenset(self.seen.tests) - {test}
            run = self.run(self.stand.after, _SEED + 100 + number, more=RunOptions(leave_out=others))
            self.seen.after += 1
            yield from self.judged_after(run, (test,), Refusal.UNSTABLE)

    @staticmethod
    def judged_after(run: RunResult, tests: Sequence[TestId], code: Refusal) -> Iterator[Finding]:
        """Yield what is wrong with a run after the fix: these tests must pass in it, and no others."""
        outcomes = {result.id: result for result in run.report.results}
        if not _SPOILT.isdisjoint(run.problems):
            yield code, f"the run came to no sound end: {', '.join(run.problems)}"
        for path, detail in run.report.collection_errors:
            yield code, f"{path}: {detail}"
        for test in tests:
            result = outcomes.get(test)
            if result is None:
                yield code, f"{test} isn't there"
            elif result.outcome is not TestOutcome.PASSED:
                yield code, f"{test}: {result.outcome.value}: {result.detail}"
        for test in outcomes.keys() - set(tests):
            yield code, f"{test} is there only after the fix"


_PERTURBED: tuple[tuple[Refusal, tuple[Perturbation, ...]], ...] = (
    (Refusal.UNSTABLE, (Perturbation.ORDER, Perturbation.SEED)),
    (Refusal.CLOCK, (Perturbation.YEAR_AHEAD, Perturbation.TIME_ZONE)),
    (Refusal.UNSTABLE, (Perturbation.SEED, Perturbation.LOCALE)),
    (Refusal.UNSTABLE, (Perturbation.ORDER, Perturbation.SEED, Perturbation.PATH)),
)
"""What is changed in the runs after the first, and what a test is refused for that minds."""


def _alone(tests: Sequence[TestId]) -> Sequence[TestId]:
    """Return the tests to run by themselves: a single one always is."""
    if len(tests) <= 1:
        return ()
    return tests if len(tests) <= _MOST_ALONE else (tests[-1], tests[0])


def _touched(effects: Effects | None) -> Iterator[Finding]:
    if effects is None:
        yield Refusal.UNSTABLE, "a run came to no end, so nobody knows what it did"
    for kind, what in effects.seen if effects is not None else ():
        yield Refusal(kind), f"at run time: {what}"


def within(stand: Stand, wall_s: float) -> Stand:
    """Return a stand whose runs may take no longer than that."""
    limits = replace(stand.rig.limits, wall_s=min(stand.rig.limits.wall_s, wall_s))
    return replace(stand, rig=replace(stand.rig, limits=limits))

"""Choose the test files beside those of the pull request: what is related to the change, or the whole suite.

Related is what imports a changed module, and what runs a changed line: that is seen in a run after the fix.
The whole suite is what a run after the fix comes to the end of. Both runs have a budget of time.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from swequarry.records import TestOutcome
from swequarry.verify.coverage_of_gold import read_trace, tracing_tap
from swequarry.verify.modules import Modules
from swequarry.verify.mutation_diff import ChangedFile
from swequarry.verify.payload import Tap
from swequarry.verify.runner import RunResult
from swequarry.verify.stability_runs import file_of
from swequarry.verify.targets import holds_tests

_TOGETHER = 20
"""So many files are run at once: what a limit or a crash ends is lost for these alone."""
_LEAST_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which test files are run, relative to /testbed, and how many more the budget left out."""

    name: str
    targets: tuple[str, ...]
    left_out: int = 0


Scout = Callable[[Sequence[str], tuple[Tap, ...], float], RunResult]
"""Runs some test files after the fix with taps, for so many seconds at most."""


def widened(
    name: str,
    touched: Sequence[str],
    sources: Mapping[bytes, bytes],
    changed: Sequence[ChangedFile],
    scout: Scout,
    budget_s: float,
) -> Scope:
    """Return the scope `related` or `full` of a pull request whose own test files are `touched`.

    `sources` are the Python files after the fix by path, `changed` the files of the gold patch.

    Raises:
        SandboxError: the machinery broke.
    """
    own = set(touched)
    every = [os.fsdecode(path) for path in sorted(sources) if holds_tests(path, sources[path])]
    others = sorted((path for path in every if path not in own), key=lambda path: (_far(path, own), path))
    search = _Search(scout=scout, ends_at=time.monotonic() + budget_s)
    if name == "full":
        found = set(search.finished(others))
    else:
        modules, wanted = Modules(sources), {file.path for file in changed}
        found = {path for path in others if modules.reaches(os.fsencode(path), wanted)}
        found |= set(search.reaching([path for path in others if path not in found], changed))
    return Scope(name=name, targets=tuple(sorted(own | found)), left_out=search.left_out)


def _far(path: str, own: Collection[str]) -> bool:
    return path.rpartition("/")[0] not in {one.rpartition("/")[0] for one in own}


@dataclass(slots=True)
class _Search:
    """Runs test files that nobody asked for yet, some at a time, until the budget is spent."""

    scout: Scout
    ends_at: float
    left_out: int = 0

    def finished(self, paths: Sequence[str]) -> Iterator[str]:
        """Yield the files of which a test passes and each comes to its end."""
        for some in self._some(paths):
            run = self._run(some, ())
            if run is None:
                continue
            ends: dict[str, set[TestOutcome]] = {}
            for result in run.report.results:
                ends.setdefault(file_of(result.id, some), set()).add(result.outcome)
            for path in some:
                outcomes = ends.get(path, set())
                late = not outcomes.isdisjoint({TestOutcome.NOT_RUN, TestOutcome.TIMEOUT})
                self.left_out += late
                if TestOutcome.PASSED in outcomes and not late:
                    yield path

    def reaching(self, paths: Sequence[str], changed: Sequence[ChangedFile]) -> Iterator[str]:
        """Yield the files whose tests run a line that gold wrote."""
        if not any(file.is_python for file in changed):
            return
        tap, mark = tracing_tap(changed)
        for some in self._some(paths):
            run = self._run(some, (tap,))
            trace = read_trace(run, mark, changed) if run is not None else None
            if trace is None:
                self.left_out += len(some) if run is not None else 0
                continue
            tests = {
                test
                for file in changed
                for line in (line for hunk in file.changed_lines() for line in hunk)
                for test in trace.reach.get(file.path, {}).get(line, ())
            }
            yield from sorted({file_of(test, some) for test in tests} - {""})

    def _some(self, paths: Sequence[str]) -> Iterator[Sequence[str]]:
        for start in range(0, len(paths), _TOGETHER):
            yield paths[start : start + _TOGETHER]

    def _run(self, paths: Sequence[str], taps: tuple[Tap, ...]) -> RunResult | None:
        left_s = self.ends_at - time.monotonic()
        if left_s < _LEAST_S:
            self.left_out += len(paths)
            return None
        return self.scout(paths, taps, left_s)

"""Finds an environment in which a candidate's tests run: recipes in their order, repaired from the logs.

Every try is recorded. A recipe that fails is repaired while a rule knows how, then the next one is tried;
a trial that works but skipped tests for want of something may be bettered, and is kept where that fails.
A repair that got further costs no build of the plan's, so that neither eats up the other's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reconstruct.environment.build_session import BuildCause
from reconstruct.environment.builder import Built, NotBuilt, Workshop, build
from reconstruct.environment.causes import cause_of
from reconstruct.environment.decisive import decisive_lines
from reconstruct.environment.repair import Repair, Stage, propose
from reconstruct.environment.repair_actions import RepairContext
from swequarry.outcome import Accepted, Boundary, Failed, Outcome, RejectCode, Rejected
from swequarry.records import ContentHash, Environment, EnvironmentTry, Evidence, Recipe
from swequarry.sandbox.contract import Interpreter, World

_IMPROVEMENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """How the candidate's tests ran in a world: `ok` where they ran at all, `score` the tests that did.

    `log` is the runner's output, with the reasons of skips, for the repair rules.
    """

    ok: bool
    log: bytes
    score: int = 0

    __test__ = False


Trial = Callable[[World, Recipe], TrialResult]
"""Runs the candidate's tests in a world; raises SandboxError where the machinery breaks."""
Tell = Callable[[Recipe, EnvironmentTry], None]
"""Is told of every try with its recipe, also where no environment comes of them."""


def _nobody(_recipe: Recipe, _attempt: EnvironmentTry) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEnvironment:
    """An environment with its world; `built` has what was observed while it was made."""

    environment: Environment
    world: World
    built: Built


def find_environment(  # noqa: PLR0913 - `tell` only watches
    recipes: Sequence[Recipe],
    base_world: World,
    workshop: Workshop,
    trial: Trial,
    *,
    interpreters: Sequence[Interpreter],
    context: RepairContext | None = None,
    evidence: tuple[Evidence, ...] = (),
    max_tries: int = 6,
    tell: Tell = _nobody,
) -> Outcome[FoundEnvironment]:
    """Return the first environment in which the trial works, at most `max_tries` builds away.

    A repair whose try fails further on, or for another reason, isn't counted; at most `max_tries` aren't.

    Raises:
        IndexUnavailableError: the index failed while a build did.
        SandboxError: the sandbox broke.
    """
    search = _Search(
        base_world=base_world,
        workshop=workshop,
        trial=trial,
        interpreters={_minor(i.version): i for i in reversed(interpreters)},
        context=context or RepairContext(),
        left=max_tries,
        free=max_tries,
        tell=tell,
    )
    for recipe in recipes:
        search.follow(recipe)
        if search.best is not None or search.left <= 0:
            break
    return search.outcome(evidence)


@dataclass(slots=True, kw_only=True)
class _Try:
    recipe: Recipe
    built: Built
    result: TrialResult


@dataclass(slots=True, kw_only=True)
class _Search:
    base_world: World
    workshop: Workshop
    trial: Trial
    interpreters: dict[str, Interpreter]
    context: RepairContext
    left: int
    free: int
    tell: Tell = _nobody
    best: _Try | None = None
    tries: list[EnvironmentTry] = field(default_factory=list)
    tried: set[ContentHash] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    decisive: tuple[str, ...] = ()
    limited: bool = False
    failed_at: tuple[Stage, tuple[str, ...]] | None = None
    met_interpreter: bool = False

    def follow(self, first: Recipe) -> None:
        """Try a recipe and what the rules make of it, until it works or nothing is left to try."""
        recipe: Recipe | None = first
        rule: str | None = None
        while recipe is not None and self.left > 0:
            if recipe.content_hash() in self.tried or recipe.python in self.given_up:
                return
            repair = self._one(recipe, rule)
            if repair is None:
                return
            if repair.recipe is None:
                self.given_up.add(recipe.python)
            recipe, rule = repair.recipe, repair.rule

    def _one(self, recipe: Recipe, rule: str | None) -> Repair | None:
        interpreter = self.interpreters.get(recipe.python)
        self.tried.add(recipe.content_hash())
        if interpreter is None:
            self._record(recipe, rule, "no_interpreter", (f"no Python {recipe.python} is here",))
            return None
        self.met_interpreter = True
        self.left -= 1
        built = build(recipe, self.base_world, interpreter, self.workshop)
        if isinstance(built, NotBuilt):
            self._record(recipe, rule, f"build_failed: {built.cause}", built.decisive)
            self._failed(Stage.BUILD, rule, built.decisive)
            self.limited = built.cause is BuildCause.LIMIT
            log = built.log + "".join(f"\n{note}" for note in built.notes).encode()
            return propose(recipe, log, Stage.BUILD, self.context, self.tried)
        return self._judge(_Try(recipe=recipe, built=built, result=self.trial(built.world, recipe)), rule)

    def _judge(self, done: _Try, rule: str | None) -> Repair | None:
        if not done.result.ok:
            lines = decisive_lines(done.result.log)
            self._record(done.recipe, rule, "trial_failed", lines)
            self._failed(Stage.TRIAL, rule, lines)
            self._forget(done)
            self.limited = False
            return propose(done.recipe, done.result.log, Stage.TRIAL, self.context, self.tried)
        previous = self.best
        if previous is not None and done.result.score <= previous.result.score:
            self._record(done.recipe, rule, "no_better", ())
            self._forget(done)
            return None
        if previous is not None:
            self._forget(previous)
        self.best = done
        self._record(done.recipe, rule, "works", ())
        self.left = min(self.left, _IMPROVEMENTS)
        return propose(done.recipe, done.result.log, Stage.TRIAL, self.context, self.tried, only_improve=True)

    def _failed(self, stage: Stage, rule: str | None, lines: tuple[str, ...]) -> None:
        """Give the build back to a repair that got further than what it repaired."""
        before, self.failed_at = self.failed_at, (stage, lines)
        fell_back = before is not None and (before[0], stage) == (Stage.TRIAL, Stage.BUILD)
        if rule is not None and before != self.failed_at and not fell_back and self.free > 0:
            self.free -= 1
            self.left += 1

    def _forget(self, done: _Try) -> None:
        """Delete the world of a try that isn't used."""
        if self.best is None or self.best.built.world != done.built.world or self.best is done:
            self.workshop.backend.remove_world(done.built.world.key)

    def _record(self, recipe: Recipe, rule: str | None, result: str, lines: tuple[str, ...]) -> None:
        self.decisive = lines or self.decisive
        attempt = EnvironmentTry(recipe=recipe.content_hash(), result=result, rule=rule, decisive_lines=lines)
        self.tries.append(attempt)
        self.tell(recipe, attempt)

    def outcome(self, evidence: tuple[Evidence, ...]) -> Outcome[FoundEnvironment]:
        """Return how the search ended."""
        if self.best is not None:
            return Accepted(value=self._found(self.best, evidence))
        if not self.met_interpreter:
            wanted = ", ".join(sorted({line for t in self.tries for line in t.decisive_lines}))
            message = f"no interpreter that the project supports is on this machine ({wanted or 'none fits'})"
            return Rejected(code=RejectCode.NO_INTERPRETER, message=message)
        if self.limited:
            message = "the last build met a limit; raise sandbox.build_timeout_s, memory_mb or disk_mb"
            return Failed(boundary=Boundary.SANDBOX, message=message, evidence=self.decisive)
        message = (
            f"{len(self.tries)} recipes were tried and none gave an environment in which the tests run; "
            f"cause: {cause_of(self.decisive)}"
        )
        return Rejected(code=RejectCode.BUILD_FAILED, message=message, evidence=self._evidence())

    def _evidence(self) -> tuple[str, ...]:
        results = tuple(f"{t.rule or 'plan'}: {t.result}" for t in self.tries)
        return results + self.decisive

    def _found(self, best: _Try, evidence: tuple[Evidence, ...]) -> FoundEnvironment:
        environment = Environment(
            backend=self.workshop.backend.name,
            python_version=best.built.python_version,
            recipe=best.recipe,
            lock=best.built.lock,
            project_version=best.built.project_version,
            evidence=evidence,
            tries=tuple(self.tries),
        )
        return FoundEnvironment(environment=environment, world=best.built.world, built=best.built)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])

"""How tests are run, searched for flakes, guarded, and tried on wrong fixes."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from swequarry.config.section import Section


class VerifySettings(Section):
    """How tests are run. `runs` is the number of runs of before and of after each.

    `scope` says which test files are run: those of the pull request (`touched`), also those that import or
    run what it changes (`related`), or all (`full`). `scope_budget_s` bounds the run that looks for the files
    beside those of the pull request: what it doesn't come to isn't in the scope.
    """

    runs: int = Field(default=3, ge=1)
    scope: Literal["touched", "related", "full"] = "touched"
    scope_budget_s: int = Field(default=600, ge=1)
    timeout_s: int = Field(default=1800, ge=1)
    test_timeout_s: int = Field(default=300, ge=1)


class ChecksSettings(Section):
    """Canaries and held-out twins, which grading has beside the hidden tests.

    `budget_s` bounds the test time that a task may cost here, held against what its tests took when they were
    verified: where twins would cost more there are fewer or none, then no canaries either. What is left out
    is said with the task.
    """

    enabled: bool = True
    budget_s: int = Field(default=1800, ge=0)


def _word(value: object) -> object:
    """Take `off` for a word: YAML reads it as a truth value."""
    return "off" if value is False else value


class StabilitySettings(Section):
    """The search for unstable tests, which perturbs runs on purpose.

    `default` spends at most eight bare runs of the tests and stops when nothing flips; `deep` has no bound
    and also runs every perturbation by itself and each test alone; `off` leaves all to verification.
    """

    budget: Annotated[Literal["default", "deep", "off"], BeforeValidator(_word)] = "default"


class StrengthSettings(Section):
    """Wrong fixes tried on the hidden tests. `mutants` is how many small changes of gold are tried at most.

    `budget_s` bounds the time of a task: where it ends, the wrong fixes that weren't tried are counted.
    """

    enabled: bool = True
    mutants: int = Field(default=10, ge=5, le=20)
    budget_s: int = Field(default=150, ge=1)

"""Who writes tests, what becomes of names that nobody told, and what of blocked tasks."""

from typing import Literal, Self

from pydantic import Field, model_validator

from swequarry.config.section import Section


class LlmSettings(Section):
    """The language model that writers may ask, at any server that speaks OpenAI's protocol.

    Without `model` (or `SWEQUARRY_MODEL`) none is asked. Key and address come from `OPENAI_API_KEY` and
    `OPENAI_BASE_URL` alone. `max_tokens` bounds one answer and `context_chars` what a question shows of a
    repository; `temperature` or `seed` null aren't sent. An answer that can't be used is asked to be repaired
    at most `repairs` times, and of the wrong fixes that want a test at most `survivors` are shown.
    `timeout_s` and `retries` are of one question. Budgets count what was paid for, not what the cache knew;
    those in US dollars need both prices.
    """

    model: str | None = Field(default=None, min_length=1)
    max_tokens: int = Field(default=1500, ge=1)
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    seed: int | None = 0
    context_chars: int = Field(default=12_000, ge=1000)
    repairs: int = Field(default=2, ge=0, le=10)
    survivors: int = Field(default=3, ge=0)
    timeout_s: int = Field(default=300, ge=1)
    retries: int = Field(default=2, ge=0, le=10)
    task_tokens: int = Field(default=60_000, ge=0)
    run_tokens: int | None = Field(default=None, ge=0)
    task_usd: float | None = Field(default=None, ge=0)
    run_usd: float | None = Field(default=None, ge=0)
    usd_per_million_input: float | None = Field(default=None, ge=0)
    usd_per_million_output: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _money_needs_prices(self) -> Self:
        bounded = self.task_usd is not None or self.run_usd is not None
        if bounded and None in (self.usd_per_million_input, self.usd_per_million_output):
            raise ValueError("task_usd and run_usd need usd_per_million_input and usd_per_million_output")
        return self


class InterfaceSettings(Section):
    """What becomes of names and messages that hidden tests use, base lacks and nobody wrote down.

    `add` writes them under the statement, `keep` notes them in the record alone, `drop` takes the tests that
    use them out of the lists, `reject` ends the candidate as underspecified (with `drop` too, where no test
    is left).
    """

    policy: Literal["add", "keep", "drop", "reject"] = "add"


class WritingSettings(Section):
    """Tests that are written beside those of the pull request, each proven by runs before it enters.

    With `tasks_without_tests` pull requests that bring no test become candidates where their issue shows
    code; they are `no_test_change` only if nothing proven comes of them. `budget_runs` bounds the runs of a
    task, `runs` is the number of them after the fix that a test must pass, `added` bounds the test files.
    """

    enabled: bool = True
    tasks_without_tests: bool = True
    budget_runs: int = Field(default=80, ge=0)
    runs: int = Field(default=4, ge=2, le=5)
    added: int = Field(default=3, ge=1)


class ReviewSettings(Section):
    """What becomes of a verified candidate whose task a finding of the review blocks.

    `keep`: it is a task, and the finding stands in it. `drop`: it is rejected as `review`.
    """

    blocked_tasks: Literal["keep", "drop"] = "keep"

"""Where the language model is: its name from the settings, address and key from the environment only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from swequarry.config import LlmSettings
from testwriter.model.exchange import Parameters

MODEL, KEY, URL = "SWEQUARRY_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"
NO_KEY = "none"
"""Sent to a server that was named without a key: those on one's own machine take any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to reach a model; `url` None is OpenAI's own. The key is in no text that this prints."""

    model: str
    key: str = field(repr=False)
    url: str | None = None

    def without_key(self, text: str) -> str:
        """Return a text of the server's without the key, which some servers repeat."""
        return text.replace(self.key, "[key]") if self.key != NO_KEY else text


@dataclass(frozen=True, slots=True)
class Skipped:
    """No model is asked; `why` says so, and what to do for one."""

    why: str


def with_environment(settings: LlmSettings, environ: Mapping[str, str]) -> LlmSettings:
    """Return settings that name the environment's model where they name none.

    The model is part of what a stage's result depends on, so this comes before any key is made.
    """
    named = settings.model or environ.get(MODEL) or None
    return settings.model_copy(update={"model": named})


def find_access(settings: LlmSettings, environ: Mapping[str, str]) -> Access | Skipped:
    """Return how to reach the model of the settings, or why none is asked."""
    model, key, url = settings.model, environ.get(KEY), environ.get(URL) or None
    if model is None:
        return Skipped(f"no model is named: set llm.model, {MODEL} or --model to have one write tests")
    if not key and url is None:
        return Skipped(
            f"there is no key for {model}: set {KEY}, or {URL} for a server that wants none; "
            "everything that needs no model was done"
        )
    return Access(model=model, key=key or NO_KEY, url=url)


def parameters_of(settings: LlmSettings, access: Access) -> Parameters:
    """Return the parameters of every question."""
    return Parameters(
        model=access.model,
        max_tokens=settings.max_tokens,
        output_limit=settings.output_limit,
        temperature=settings.temperature,
        seed=settings.seed,
    )

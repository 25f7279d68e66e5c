"""A server that speaks OpenAI's protocol for chat completions, asked through the `openai` package.

The package waits, tries again and tells errors apart; the body is read here, since a server that merely
claims the protocol may send anything.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swequarry.errors import ModelDeniedError, ModelUnavailableError, UsageError
from testwriter.model.access import Access
from testwriter.model.exchange import Answer, Question, Usage

if TYPE_CHECKING:
    import openai

MAX_BODY_BYTES: Final = 4 << 20
_TOLD = 300


class Server(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> Answer:
        """Return the model's answer.

        Raises:
            ModelUnavailableError: there is none, after as many tries as the settings allow.
        """
        ...


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Message(_Lenient):
    content: str | None = None


class _Choice(_Lenient):
    message: _Message
    finish_reason: str | None = None


class _Usage(_Lenient):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


class _Completion(_Lenient):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def read_completion(body: str, question: Question) -> Answer:
    """Read the body of a response.

    Raises:
        ValueError: it isn't a chat completion, or too large to be one.
    """
    if len(body) > MAX_BODY_BYTES:
        raise ValueError(f"it has {len(body)} characters")
    try:
        found = _Completion.model_validate(json.loads(body))
    except (RecursionError, ValidationError) as error:
        raise ValueError("it has no choice with a message") from error
    choice = found.choices[0]
    text = choice.message.content or ""
    return Answer(
        text=text,
        usage=_usage(found.usage, question, text),
        cut_off=choice.finish_reason == "length",
        refused=not text or choice.finish_reason == "content_filter",
        raw=body,
    )


def _usage(found: _Usage | None, question: Question, text: str) -> Usage:
    if found is not None and found.prompt_tokens:
        return Usage(input_tokens=found.prompt_tokens, output_tokens=found.completion_tokens)
    size = len(text.encode("utf-8", "replace"))
    return Usage(input_tokens=question.guessed_tokens(), output_tokens=size // 3 + 1, guessed=True)


@dataclass(frozen=True)
class OpenAiServer:
    """Any server with OpenAI's protocol. `timeout_s` bounds each try, `retries` are further ones."""

    access: Access
    timeout_s: float
    retries: int

    @cached_property
    def _package(self) -> Any:
        try:
            import openai  # noqa: PLC0415 - slow to load, and an extra
        except ImportError as error:
            raise UsageError("no package `openai` here: install swequarry with its extra `llm`") from error
        return openai

    @cached_property
    def _client(self) -> "openai.OpenAI":
        client: openai.OpenAI = self._package.OpenAI(
            api_key=self.access.key,
            base_url=self.access.url,
            timeout=self.timeout_s,
            max_retries=self.retries,
        )
        return client

    def ask(self, question: Question) -> Answer:
        """Return the model's answer; see `Server`. One that the server won't take is refused, not broken.

        Raises:
            ModelDeniedError: the server wants another key, or doesn't know the model.
            ModelUnavailableError: it can't be reached, is too slow, or doesn't speak the protocol.
            UsageError: the extra isn't installed.
        """
        openai = self._package
        try:
            body, retries = self._body(question)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            said = self.access.without_key(str(error))
            return Answer(text="", refused=True, raw=said, usage=Usage(input_tokens=0, output_tokens=0))
        except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError) as error:
            raise ModelDeniedError(
                f"{self._name} denies the model {self.access.model}: {self._told(error)}; "
                "check OPENAI_API_KEY, OPENAI_BASE_URL and the model's name"
            ) from error
        except openai.OpenAIError as error:
            raise ModelUnavailableError(
                f"{self._name} gave no answer within {self.retries + 1} tries: {self._told(error)}; "
                "run again when it works, or raise llm.timeout_s"
            ) from error
        return self._read(body, retries, question)

    @property
    def _name(self) -> str:
        return f"the model server {self.access.url or 'of OpenAI'}"

    def _told(self, error: Exception) -> str:
        text = self.access.without_key(f"{type(error).__name__}: {error}")
        return text if len(text) <= _TOLD else text[:_TOLD] + "…"

    def _body(self, question: Question) -> tuple[str, int]:
        response = self._client.chat.completions.with_raw_response.create(
            messages=[message.to_json() for message in question.messages],  # type: ignore[misc]
            **question.parameters.to_json(),
        )
        return self.access.without_key(response.text), response.retries_taken

    def _read(self, body: str, retries: int, question: Question) -> Answer:
        try:
            answer = read_completion(body, question)
        except ValueError as error:
            raise ModelUnavailableError(
                f"{self._name} doesn't speak OpenAI's protocol: {error}: {body[:_TOLD]!r}; "
                "check OPENAI_BASE_URL, which usually ends in /v1"
            ) from error
        return Answer(
            text=answer.text,
            usage=answer.usage,
            cut_off=answer.cut_off,
            refused=answer.refused,
            raw=body,
            retries=retries,
        )

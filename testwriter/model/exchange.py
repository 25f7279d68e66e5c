"""What is said to a language model and what it says back, as values."""

from dataclasses import dataclass
from typing import Any, Literal

from swequarry.records import ContentHash, canonical_json, sha256_hex

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str

    def to_json(self) -> dict[str, str]:
        """Return the message as OpenAI's protocol has it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What an answer depends on beside the question; None isn't sent. `max_tokens` bounds the answer."""

    model: str
    max_tokens: int
    output_limit: str = "max_tokens"
    temperature: float | None = 0.0
    seed: int | None = 0

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a request that aren't its messages."""
        sent = {"temperature": self.temperature, "seed": self.seed}
        given = {name: value for name, value in sent.items() if value is not None}
        return {"model": self.model, self.output_limit: self.max_tokens, **given}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptName:
    """Which prompt file a question was made of; `sha256` is of the file's bytes."""

    name: str
    version: int
    sha256: ContentHash

    def to_json(self) -> dict[str, Any]:
        """Return the name as records have it."""
        return {"name": self.name, "version": self.version, "sha256": self.sha256}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A conversation that wants an answer."""

    prompt: PromptName
    messages: tuple[Message, ...]
    parameters: Parameters

    def key(self) -> ContentHash:
        """Return the hash under which the answer is cached: of prompt, messages, model and parameters."""
        return ContentHash(sha256_hex(canonical_json(self.to_json())))

    def to_json(self) -> dict[str, Any]:
        """Return the question as records have it."""
        return {
            "prompt": self.prompt.to_json(),
            "messages": [message.to_json() for message in self.messages],
            "parameters": self.parameters.to_json(),
        }

    def guessed_tokens(self) -> int:
        """Return more tokens than the messages likely have: one for each three bytes, eight a message."""
        size = sum(len(message.content.encode("utf-8", "replace")) for message in self.messages)
        return size // 3 + 8 * len(self.messages) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one exchange; `guessed` where the server didn't count them."""

    input_tokens: int
    output_tokens: int
    guessed: bool = False

    @property
    def total(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model wrote. `cut_off`: it would have gone on. `refused`: the server kept it back.

    `raw` is the body of the response, `retries` how often it was asked for again.
    """

    text: str
    usage: Usage
    cut_off: bool = False
    refused: bool = False
    raw: str = ""
    retries: int = 0

"""Asking: from the cache where the answer is known, else within the budgets, and recorded in any case."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from swequarry.errors import ModelUnavailableError
from swequarry.records import BlobHash, canonical_json
from testwriter.model.answer_cache import AnswerCache
from testwriter.model.budget import Cost, Prices, Purse
from testwriter.model.exchange import Answer, Message, Parameters, PromptName, Question, Usage
from testwriter.model.server import Server


@dataclass(slots=True)
class Tally:
    """What asking came to. `exchanges` are the blobs of all that was said, in order; money in US dollars.

    Tokens and money are of questions that the server answered; `cached` ones cost nothing.
    """

    asked: int = 0
    cached: int = 0
    unaffordable: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    guessed: bool = False
    usd: float = 0.0
    exchanges: list[BlobHash] = field(default_factory=list)

    def add(self, usage: Usage, cost: Cost) -> None:
        """Count an answer that was paid for."""
        self.asked += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.guessed = self.guessed or usage.guessed
        self.usd += cost.usd

    def to_json(self) -> dict[str, Any]:
        """Return the tally as it is kept beside a result."""
        return {
            "asked": self.asked,
            "cached": self.cached,
            "unaffordable": self.unaffordable,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "tokens_guessed": self.guessed,
            "usd": round(self.usd, 6),
            "exchanges": list(self.exchanges),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks one model for one task. `keep` stores bytes in the blob store and returns their hash."""

    server: Server
    parameters: Parameters
    cache: AnswerCache
    keep: Callable[[bytes], BlobHash]
    purses: Sequence[Purse] = ()
    prices: Prices = field(default_factory=Prices)
    tally: Tally = field(default_factory=Tally)

    def ask(self, prompt: PromptName, messages: Sequence[Message]) -> Answer | None:
        """Return the model's answer, None where no budget is left for the question.

        Raises:
            ModelUnavailableError: the server gave none; what was set aside for it counts as spent.
            StorageError: cache, budget or blobs can't be used.
        """
        question = Question(prompt=prompt, messages=tuple(messages), parameters=self.parameters)
        known = self.cache.get(question.key())
        if known is not None:
            self.tally.cached += 1
            self._record(question, {"cached": True, **_told(known)})
            return known
        worst = self.prices.of(
            Usage(input_tokens=question.guessed_tokens(), output_tokens=self.parameters.max_tokens)
        )
        if not self._take(worst):
            self.tally.unaffordable += 1
            self._record(question, {"unaffordable": True, "tokens": worst.tokens, "usd": worst.usd})
            return None
        return self._paid(question, worst)

    def _paid(self, question: Question, worst: Cost) -> Answer:
        try:
            answer = self.server.ask(question)
        except ModelUnavailableError as error:
            self._record(question, {"error": f"{type(error).__name__}: {error}"})
            raise
        cost = self.prices.of(answer.usage)
        for purse in self.purses:
            purse.give_back(worst.plus(cost, -1))
        self.tally.add(answer.usage, cost)
        self.cache.put(question.key(), answer)
        self._record(question, {"cached": False, "usd": cost.usd, **_told(answer)})
        return answer

    def _take(self, worst: Cost) -> bool:
        taken: list[Purse] = []
        for purse in self.purses:
            if not purse.take(worst):
                for earlier in taken:
                    earlier.give_back(worst)
                return False
            taken.append(purse)
        return True

    def _record(self, question: Question, what: dict[str, Any]) -> None:
        data = {"key": question.key(), **question.to_json(), **what}
        self.tally.exchanges.append(self.keep(canonical_json(data)))


def _told(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "raw": answer.raw,
        "cut_off": answer.cut_off,
        "refused": answer.refused,
        "retries": answer.retries,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "tokens_guessed": answer.usage.guessed,
    }

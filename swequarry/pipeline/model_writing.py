"""The language model of a run: who writes with it, and what of its settings changes a result."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from swequarry.config import LlmSettings, Section
from swequarry.pipeline.stages.house import House
from testwriter.interface import Writer
from testwriter.model.access import Skipped, find_access, with_environment
from testwriter.model.opening import open_writer
from testwriter.model.prompts import load_prompt, prompt_names
from testwriter.model.writer import ModelWriter
from testwriter.proof.runs import Stand

_NOT_MEANT: Final = ("timeout_s", "retries")
"""How long one waits changes no answer."""


@dataclass(slots=True)
class ModelDesk:
    """Makes the writer of one task, where there is a model; afterwards it tells what that came to.

    Settings that name no model take the environment's.
    """

    house: House
    settings: LlmSettings
    writer: ModelWriter | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Look for the model's name in the environment."""
        self.settings = with_environment(self.settings, os.environ)

    @property
    def skipped(self) -> str | None:
        """Why no model is asked; None where one is."""
        found = find_access(self.settings, os.environ)
        return found.why if isinstance(found, Skipped) else None

    def meaning(self) -> tuple[Section | str, ...]:
        """Return what a result depends on: settings and prompts, or nothing where no model is asked.

        So a result without a model is another than one with it, and is made anew once there is a key.
        """
        if self.skipped is not None:
            return ()
        bare = LlmSettings()
        plain = self.settings.model_copy(update={name: getattr(bare, name) for name in _NOT_MEANT})
        return (plain, *(load_prompt(name).name.sha256 for name in prompt_names()))

    def writers(self) -> tuple[tuple[str, Callable[[Stand], Writer]], ...]:
        """Return the model's writer as the TestWriter hears writers, or none."""
        return () if self.skipped is not None else (("model", self._open),)

    def _open(self, _: Stand) -> Writer:
        workspace = self.house.workspace
        runs = workspace.ledger.runs()
        opened = open_writer(
            self.settings,
            os.environ,
            answers=workspace.answers,
            spending=workspace.root / "spending" / f"run-{runs[-1].number if runs else 0}",
            keep=workspace.blobs.put,
        )
        if isinstance(opened, Skipped):  # the environment changed meanwhile
            raise TypeError(opened.why)
        self.writer = opened
        return opened

    def observed(self) -> dict[str, Any]:
        """Return what was asked, paid and said, as JSON data to keep beside a result."""
        if self.skipped is not None:
            return {"model": {"skipped": self.skipped}}
        if self.writer is None:
            return {"model": {"name": self.settings.model, "asked": 0}}
        told = {"name": self.settings.model, "said": list(self.writer.said)}
        return {"model": {**told, **self.writer.asker.tally.to_json()}}

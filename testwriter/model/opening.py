"""A writer from settings and environment, or the reason why there is none."""

from collections.abc import Callable, Mapping
from pathlib import Path

from swequarry.config import LlmSettings
from swequarry.records import BlobHash
from testwriter.model.access import Skipped, find_access, parameters_of
from testwriter.model.answer_cache import AnswerCache
from testwriter.model.asking import Asker
from testwriter.model.budget import Limit, Prices, RunPurse, TaskPurse
from testwriter.model.server import OpenAiServer
from testwriter.model.writer import ModelWriter


def open_asker(
    settings: LlmSettings,
    environ: Mapping[str, str],
    *,
    answers: Path,
    spending: Path,
    keep: Callable[[bytes], BlobHash],
) -> Asker | Skipped:
    """Return what asks the model of the settings for one task, or why none is asked.

    `answers` is the folder of the cache, `spending` the file that the processes of one run share; `keep`
    stores an exchange. Nothing is sent yet.
    """
    access = find_access(settings, environ)
    if isinstance(access, Skipped):
        return access
    return Asker(
        server=OpenAiServer(access, float(settings.timeout_s), settings.retries),
        parameters=parameters_of(settings, access),
        cache=AnswerCache(answers),
        keep=keep,
        purses=(
            TaskPurse(Limit(settings.task_tokens, settings.task_usd)),
            RunPurse(Limit(settings.run_tokens, settings.run_usd), spending),
        ),
        prices=Prices(settings.usd_per_million_input or 0.0, settings.usd_per_million_output or 0.0),
    )


def open_writer(
    settings: LlmSettings,
    environ: Mapping[str, str],
    *,
    answers: Path,
    spending: Path,
    keep: Callable[[bytes], BlobHash],
) -> ModelWriter | Skipped:
    """Return the writer of one task, or why a model writes nothing; see `open_asker`."""
    asker = open_asker(settings, environ, answers=answers, spending=spending, keep=keep)
    return asker if isinstance(asker, Skipped) else ModelWriter(asker=asker, settings=settings)

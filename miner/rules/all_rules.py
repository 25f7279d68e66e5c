"""The rules in the order in which they are asked: the first that objects decides."""

from miner.rules import changes, personal, pulls, repository, texts
from miner.rules.interface import PullRule, Rule

PULL_RULES: tuple[PullRule, ...] = (
    pulls.by_bot,
    pulls.dependency_update,
)
RULES: tuple[Rule, ...] = (
    personal.secret,
    personal.personal_data,
    texts.short_statement,
    texts.long_statement,
    texts.other_script,
    texts.other_language,
    changes.foreign_code,
    changes.large_fix,
    repository.health,
)

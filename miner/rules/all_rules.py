"""The rules in the order in which they are asked: the first that objects decides."""

from miner.rules import changes, texts
from miner.rules.interface import Rule

RULES: tuple[Rule, ...] = (
    texts.secret,
    texts.short_statement,
    texts.other_script,
    changes.foreign_code,
    changes.large_fix,
)

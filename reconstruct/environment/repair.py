"""Proposes the next try from the log of the last: rules are data, actions are pure functions.

The rules lie in repair_rules.yaml; each has a test with the log line that it was made for.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files

import yaml

from reconstruct.environment.repair_actions import ACTIONS, RepairContext
from swequarry.errors import InputError
from swequarry.records import ContentHash, Recipe

_LOG_LIMIT = 400_000
_MATCH_LIMIT = 200
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Stage(StrEnum):
    """Where a log comes from: the build, or the trial run of the candidate's tests."""

    BUILD = "build"
    TRIAL = "trial"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRule:
    """One rule: what it looks for, and the action with its values."""

    id: str
    stage: Stage
    pattern: re.Pattern[str]
    action: str
    values: Mapping[str, str]
    improves: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A proposal: the next recipe, or None where another interpreter is needed; `line` is what matched."""

    rule: str
    recipe: Recipe | None
    line: str


@cache
def repair_rules() -> tuple[RepairRule, ...]:
    """Return all rules in their order.

    Raises:
        InputError: the data file is damaged.
    """
    text = files("reconstruct.environment").joinpath("repair_rules.yaml").read_text(encoding="utf-8")
    try:
        return tuple(_rule(entry) for entry in yaml.safe_load(text))
    except (yaml.YAMLError, KeyError, TypeError, ValueError, re.error) as error:
        raise InputError(
            f"the data file repair_rules.yaml of this installation is damaged: {error!r}; install it again"
        ) from error


def _rule(entry: Mapping[str, object]) -> RepairRule:
    values = entry.get("with") or {}
    if entry["action"] not in ACTIONS or not isinstance(values, dict):
        raise ValueError(f"rule {entry['id']} names no action")
    return RepairRule(
        id=str(entry["id"]),
        stage=Stage(str(entry["stage"])),
        pattern=re.compile(str(entry["pattern"])),
        action=str(entry["action"]),
        values={str(key): str(value) for key, value in values.items()},
        improves=bool(entry.get("improves", False)),
    )


def propose(
    recipe: Recipe,
    log: bytes,
    stage: Stage,
    context: RepairContext,
    tried: AbstractSet[ContentHash] = frozenset(),
    *,
    only_improve: bool = False,
) -> Repair | None:
    """Return the first change that a rule proposes and that wasn't tried yet, or None.

    Rules that require something are taken together, so that three missing modules cost one build.
    `only_improve` limits the rules to those that make a good trial better, and what they require goes to the
    second tier.
    """
    text = _TERMINAL.sub("", log[-_LOG_LIMIT:].decode("utf-8", "replace"))
    rules = [r for r in repair_rules() if r.stage is stage and (r.improves or not only_improve)]
    context = replace(context, into_optional=only_improve)
    joined = _require_together(recipe, text, rules, context, tried)
    if joined is not None:
        return joined
    for rule in rules:
        for match in _matches(rule, text):
            changed = _apply(rule, match, recipe, context)
            if changed is None or (changed != recipe and changed.content_hash() not in tried):
                return Repair(rule=rule.id, recipe=changed, line=_line_of(match))
    return None


def _require_together(
    recipe: Recipe,
    text: str,
    rules: list[RepairRule],
    context: RepairContext,
    tried: AbstractSet[ContentHash],
) -> Repair | None:
    changed, used, line = recipe, [], ""
    for rule in rules:
        if not rule.action.startswith("require_"):
            continue
        for match in _matches(rule, text):
            after = _apply(rule, match, changed, context)
            if after is not None and after != changed:
                changed, line = after, line or _line_of(match)
                used.append(rule.id)
    if not used or changed.content_hash() in tried:
        return None
    return Repair(rule="+".join(dict.fromkeys(used)), recipe=changed, line=line)


def _matches(rule: RepairRule, text: str) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    for match in rule.pattern.finditer(text):
        found.append(match)
        if len(found) >= _MATCH_LIMIT:
            break
    return found


def _apply(rule: RepairRule, match: re.Match[str], recipe: Recipe, context: RepairContext) -> Recipe | None:
    groups = {name: value or "" for name, value in match.groupdict().items()}
    values = {key: _filled(value, groups) for key, value in rule.values.items()}
    changed = ACTIONS[rule.action](recipe, values, context)
    return None if changed is None else context.hold(changed)


def _filled(template: str, groups: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: groups[found[1]], template)


def _line_of(match: re.Match[str]) -> str:
    start = match.string.rfind("\n", 0, match.start()) + 1
    end = match.string.find("\n", match.start())
    return match.string[start : end if end >= 0 else None].strip()[:400]

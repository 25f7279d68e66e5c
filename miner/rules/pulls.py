"""Rules about a pull request by its record alone: who opened it, and whether it only moves versions."""

import re

from swequarry.config import CurateSettings
from swequarry.outcome import RejectCode, Rejected
from swequarry.records import PullRecord

_BOT = re.compile(
    r".*\[bot\]|app/.*|.*(?:^|[-_])(?:bot|ci-bot|robot)"
    r"|(?:dependabot|dependabot-preview|renovate|pyup|snyk|greenkeeper|imgbot|mergify|transifex|weblate)\S*",
    re.IGNORECASE,
)
"""Names that programs have on GitHub, where GitHub doesn't say it itself."""
_DEPENDENCY_TITLE = re.compile(
    r"(?:(?:build|chore|ci|fix|dev|requirements)?\s*[(\[](?:deps?|deps-dev|dependencies|requirements)[)\]]!?:?\s*\S"
    r"|\W*(?:bump|upgrade|update)s?\s+(?:the\s+)?(?:dependency\s+)?(?!version\b)\S+(?:\s+(?:requirements?|group|action))?"
    r"(?:\s+in\s+\S+)?\s+(?:from\s+\S+\s+to\s+\S|to\s+(?:version\s+)?(?:v\d|\d+\.\d))"
    r"|\W*update\s+(?:\S+\s+)?requirements?\s+from\s"
    r"|\W*(?:bump|upgrade|update)s?\s+(?:all\s+)?(?:\S+\s+)?(?:dependencies|deps|lock\s?files?)\s*$"
    r"|\[?pre-commit(?:\.ci)?\]?:?\s.*\bautoupdate\b"
    r"|\[?(?:snyk|security)\]?:?\s+(?:security\s+)?(?:upgrade|bump)\s)",
    re.IGNORECASE,
)
"""Titles of the programs that move versions, and of people who do it by hand."""
_LABELS = frozenset({"dependencies", "dependency", "deps", "dependency update", "dependency-update"})


def by_bot(pull: PullRecord, settings: CurateSettings) -> Rejected | None:
    """Drop what a program opened: by GitHub's word, else by the form of its name."""
    if settings.bots == "keep":
        return None
    named = pull.author is not None and _BOT.fullmatch(pull.author) is not None
    if pull.author_is_bot is False or not (pull.author_is_bot or named):
        return None
    name = pull.author or "a program"
    return Rejected(code=RejectCode.BOT, message=f"{name} wrote it", evidence=(f"author={name}",))


def dependency_update(pull: PullRecord, settings: CurateSettings) -> Rejected | None:
    """Drop a pull request that is about versions of dependencies, by its title or labels."""
    if settings.dependency_updates == "keep":
        return None
    found = _DEPENDENCY_TITLE.match(pull.title or "")
    label = next((label for label in pull.labels or () if label.lower() in _LABELS), None)
    if found is None and label is None:
        return None
    told = f'its title says so: "{pull.title}"' if found else f'its label says so: "{label}"'
    return Rejected(
        code=RejectCode.DEPENDENCY_UPDATE,
        message=told,
        evidence=(f"title={pull.title}" if found else f"label={label}",),
    )

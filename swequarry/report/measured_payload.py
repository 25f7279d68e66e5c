"""What the page's script is given of a task's stability and strength; text made visible first."""

from collections.abc import Callable
from typing import Any

from swequarry.records import BlobHash, Stability, Strength, WrongFixKind
from swequarry.records.strength import PASSED, REJECTED
from swequarry.report.measured import (
    KIND_WORDS,
    outcome_words,
    say_stability,
    say_strength,
    survivors,
)
from swequarry.report.visible import cut, visible

_TESTS_LIMIT = 500
_DIFF_LIMIT = 20_000


def stability_page(stability: Stability | None) -> dict[str, Any] | None:
    """Return a sentence, what was tried, and each unstable test with what it did when."""
    if stability is None:
        return None
    return {
        "said": say_stability(stability),
        "stable": [[state.value, count] for state, count in stability.stable],
        "tried": [[state.value, list(labels)] for state, labels in stability.tried],
        "spoilt": list(stability.spoilt),
        "more": max(0, len(stability.unstable) - _TESTS_LIMIT),
        "unstable": [
            [
                visible(test.id),
                test.state.value,
                test.reason.value if test.reason is not None else "",
                test.passes,
                test.runs,
                [[label, each] for label, each in outcome_words(test)],
            ]
            for test in stability.unstable[:_TESTS_LIMIT]
        ],
    }


def strength_page(strength: Strength | None, get_blob: Callable[[BlobHash], bytes]) -> dict[str, Any] | None:
    """Return a sentence, the numbers by kind, and each wrong fix that passes as a patch."""
    if strength is None:
        return None
    coverage = strength.coverage
    kinds = [
        [KIND_WORDS[kind], strength.count(REJECTED, kind), strength.count(PASSED, kind)]
        for kind in WrongFixKind
        if strength.count(REJECTED | PASSED, kind)
    ]
    return {
        "said": say_strength(strength),
        "kinds": kinds,
        "notTried": strength.not_tried,
        "uncovered": [visible(f"{path}:{line}") for path, line in coverage.uncovered] if coverage else [],
        "survivors": [
            [visible(one.what), visible(one.place), one.fate, _diff(one.diff)]
            for one in survivors(strength, get_blob)
        ],
    }


def _diff(text: str) -> dict[str, Any]:
    shown, gone = cut(visible(text), _DIFF_LIMIT)
    return {"text": shown, "gone": gone, "problem": None}

"""How well the task review orders tasks that people called underspecified or unfair, by AUROC.

Three figures each: of the review's score; of a logistic regression on the features below; and of a sum of
ranks over those features that order the known rows best, with the sign that they have there. The latter two
by cross-validation, repeated with other folds. Only rows with `lite` in `subset` count: the others were
selected by the labels.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patchreview.diff import read_diff
from patchreview.task.hidden import hidden_messages, hidden_names, private_names, said_share
from patchreview.task.review import Axis, review_task
from patchreview.task.subject import Subject
from patchreview.task.words import words_of

_FOLDS, _ROUNDS, _STEPS, _RATE, _RIDGE = 5, 20, 400, 0.3, 0.3
_DRAWS = 1000
_BEST = 5
_GOALS = {"underspecified": Axis.STATEMENT_INTENT, "false_negative": Axis.STATEMENT_TESTS}
Floats = NDArray[np.float64]
Fit = Callable[[Floats, NDArray[np.bool_], Floats], Floats]

FEATURES = (
    "hidden names",
    "hidden messages",
    "private names",
    "words",
    "lines of code",
    "tracebacks",
    "sessions",
    "wishes",
    "doubts",
    "lines of the fix",
    "files of the fix",
    "lines of the tests",
    "long texts in the tests",
    "characters",
    "words of bug forms",
    "share of the fix's words in the statement",
    "hunks of the fix",
    "assertions in the tests",
)


def print_auroc(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print both figures for both labels, with intervals from drawing the rows again."""
    labelled = [row for row in rows if "lite" in row.get("subset", ())]
    if not labelled:
        return
    subjects = [_subject(row) for row in labelled]
    features = np.array([_features(one) for one in subjects])
    for label, axis in _GOALS.items():
        truth = np.array([float(row["labels"][label]) >= 2 for row in labelled])
        reviews = [review_task(one) for one in subjects]
        fixed = np.array([review.scores[axis] for review in reviews])
        both = np.array([1 - np.prod([1 - s for s in review.scores.values()]) for review in reviews])
        print(f"{label} >= 2: {truth.sum()} of {len(truth)} rows")
        print(f"  score of `{axis.value}`: {_with_interval(fixed, truth)}")
        print(f"  score of all axes: {_with_interval(both, truth)}")
        crossed = _with_interval(_crossed(features, truth), truth)
        ranks = _with_interval(_crossed(features, truth, _ranked), truth)
        print(f"  sum of ranks of the best {_BEST} features, {_FOLDS} folds: {ranks}")
        print(f"  regression on {len(FEATURES)} features, {_FOLDS} folds: {crossed}")
        for name, column in zip(FEATURES, features.T, strict=True):
            print(f"    {name}: {auroc(column, truth):.2f}")


def _subject(row: Mapping[str, Any]) -> Subject:
    return Subject(
        instance_id=row["instance_id"],
        statement=row["problem_statement"],
        gold=read_diff(row["patch"].encode()),
        tests=read_diff(row["test_patch"].encode()),
    )


def _features(subject: Subject) -> list[float]:
    words = words_of(subject.statement)
    texts = sum(
        line.raw.count(b'"') + line.raw.count(b"'") for file in subject.tests.files for line in file.added
    )
    counts = (
        len(hidden_names(subject)),
        len(hidden_messages(subject)),
        len(private_names(subject)),
        words.prose,
        words.code_lines,
        words.tracebacks,
        words.prompts,
        words.wishes,
        words.doubts + words.questions,
        subject.gold.size,
        len(subject.gold.every),
        subject.tests.size,
        texts,
        len(subject.statement),
        words.form,
        said_share(subject) or 0.0,
        sum(len(file.patch.hunks) for file in subject.gold.every),
        sum(b"assert" in line.raw for file in subject.tests.files for line in file.added),
    )
    return [float(np.log1p(count)) for count in counts]


def auroc(scores: Floats, truth: NDArray[np.bool_]) -> float:
    """Return the chance that a true row scores above a false one, ties half."""
    above, below = scores[truth][:, None], scores[~truth][None, :]
    if not above.size or not below.size:
        return float("nan")
    return float(((above > below) + 0.5 * (above == below)).mean())


def _with_interval(scores: Floats, truth: NDArray[np.bool_]) -> str:
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(_DRAWS):
        places = rng.integers(0, len(truth), len(truth))
        drawn.append(auroc(scores[places], truth[places]))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return f"{auroc(scores, truth):.2f} ({low:.2f} to {high:.2f})"


def _crossed(features: Floats, truth: NDArray[np.bool_], fit: Fit | None = None) -> Floats:
    """Return for each row the mean rank that models which haven't seen it give it."""
    total = np.zeros(len(truth))
    for round_ in range(_ROUNDS):
        order = list(range(len(truth)))
        random.Random(round_).shuffle(order)
        scores = np.zeros(len(truth))
        for fold in range(_FOLDS):
            held = np.array(order[fold::_FOLDS])
            kept = np.setdiff1d(np.arange(len(truth)), held)
            scores[held] = (fit or _fitted)(features[kept], truth[kept], features[held])
        total += scores.argsort().argsort()
    return total / _ROUNDS


def _ranked(known: Floats, truth: NDArray[np.bool_], asked: Floats) -> Floats:
    """Return the sum over the best features of the share of known rows that an asked one is above."""
    gains = np.array([auroc(column, truth) - 0.5 for column in known.T])
    best = np.argsort(-abs(gains))[:_BEST]
    above = (asked[:, None, best] > known[None, :, best]).mean(axis=1)
    level = (asked[:, None, best] == known[None, :, best]).mean(axis=1)
    result: Floats = (above + 0.5 * level) @ np.sign(gains[best])
    return result


def _fitted(known: Floats, truth: NDArray[np.bool_], asked: Floats) -> Floats:
    mean, spread = known.mean(axis=0), known.std(axis=0) + 1e-9
    inputs = (known - mean) / spread
    weights, bias = np.zeros(inputs.shape[1]), 0.0
    for _ in range(_STEPS):
        error = 1 / (1 + np.exp(-(inputs @ weights + bias))) - truth
        weights -= _RATE * (inputs.T @ error / len(truth) + _RIDGE * weights)
        bias -= _RATE * float(error.mean())
    result: Floats = (asked - mean) / spread @ weights + bias
    return result

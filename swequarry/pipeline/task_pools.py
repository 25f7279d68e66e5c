"""What several graded patches say of a task: pass rate, pass@k, variance of the reward, and its pool."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import comb

from swequarry.pipeline.grader import Graded
from swequarry.verify.grade import Verdict

_KS = (1, 2, 4, 8, 16, 32, 64)


class Pool(StrEnum):
    """Where a task stands for the solver that made these patches.

    MASTERED: every patch resolves it. FRONTIER: some do, so there is something to learn. TOO_HARD: none
    does, and the gold patch does. BROKEN: the gold patch doesn't either. UNKNOWN: nothing was graded.
    """

    MASTERED = "mastered"
    FRONTIER = "frontier"
    TOO_HARD = "too_hard"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One task and what its patches came to.

    `graded` counts verdicts; `infra_failed` the patches that have none; `accepted` the resolved patches that
    no finding of the review blocks: all else is about what was measured. `pass_at_k` are pairs: k, and the
    chance that one of k patches drawn without return resolves the task, by the unbiased estimator of Chen et
    al. 2021 (arXiv 2107.03374): 1 - C(n - c, k) / C(n, k). `reward_variance` is that of resolved (0 or 1),
    `partial_variance` that of the partial credit, over all verdicts.
    """

    instance_id: str
    graded: int
    infra_failed: int
    resolved: int
    accepted: int
    tampered: int
    pass_rate: float
    pass_at_k: tuple[tuple[int, float], ...]
    reward_variance: float
    partial_variance: float
    pool: Pool


def standing(instance_id: str, found: Sequence[Graded], *, gold_resolves: bool | None) -> Standing:
    """Return how a task stands. `gold_resolves` is None where nobody asked."""
    verdicts = [one for one in found if one.verdict is not Verdict.INFRA_FAILED]
    total, resolved = len(verdicts), sum(one.resolved for one in verdicts)
    return Standing(
        instance_id=instance_id,
        graded=total,
        infra_failed=len(found) - total,
        resolved=resolved,
        accepted=sum(one.accepted for one in verdicts),
        tampered=sum(one.verdict is Verdict.TAMPERED for one in verdicts),
        pass_rate=resolved / total if total else 0.0,
        pass_at_k=tuple((k, pass_at_k(total, resolved, k)) for k in _KS if k <= total),
        reward_variance=_variance([float(one.resolved) for one in verdicts]),
        partial_variance=_variance([one.partial_credit for one in verdicts]),
        pool=_pool(total, resolved, gold_resolves=gold_resolves),
    )


def pass_at_k(total: int, resolved: int, k: int) -> float:
    """Return the unbiased estimate of pass@k for `total` patches, of which `resolved` resolve the task."""
    return 1.0 - comb(total - resolved, k) / comb(total, k)


def _variance(values: Sequence[float]) -> float:
    return statistics.pvariance(values) if values else 0.0


def _pool(total: int, resolved: int, *, gold_resolves: bool | None) -> Pool:
    if gold_resolves is False:
        return Pool.BROKEN
    if not total:
        return Pool.UNKNOWN
    if resolved:
        return Pool.MASTERED if resolved == total else Pool.FRONTIER
    return Pool.TOO_HARD if gold_resolves else Pool.UNKNOWN

"""Reviews of trajectories as lines for a terminal, and as Markdown."""

from collections.abc import Iterator

from patchreview.findings import Severity
from patchreview.output.words import findings_table
from patchreview.trajectory.review import EpisodeReview, SetReview


def episode_lines(review: EpisodeReview) -> Iterator[str]:
    """Yield a line for each finding, its evidence below, and the sum at the end."""
    for finding in review.as_findings():
        yield str(finding)
        if finding.evidence:
            yield f"    {finding.evidence}"
    yield f"{review.trajectory.name}: {episode_summary(review)}"


def episode_summary(review: EpisodeReview) -> str:
    """Return the sum of an episode in one line."""
    trajectory, found = review.trajectory, review.as_findings()
    counts = ", ".join(f"{sum(one.severity is s for one in found)} {s}" for s in Severity)
    parts = [f"{'blocked' if review.blocked else 'not blocked'}: {counts}", f"{len(trajectory.steps)} steps"]
    if trajectory.cost_usd is not None:
        parts.append(f"${trajectory.cost_usd:.2f}")
    if review.points:
        last = review.points[-1]
        parts.append(f"last test run in step {last.step}: {last.passed} passed, {last.failed} failed")
    if review.first_wrong is not None:
        parts.append(f"first wrong step: {review.first_wrong}")
    return "; ".join([*parts, trajectory.format])


def set_lines(review: SetReview) -> Iterator[str]:
    """Yield the lines of every episode and then those of the set."""
    for episode in review.episodes:
        yield from episode_lines(episode)
    if len(review.episodes) > 1 or review.others:
        yield from _sums(review)


def set_markdown(review: SetReview) -> Iterator[str]:
    """Yield the lines of a comment: the set, then each episode; foreign text stays within code."""
    yield "### Review of trajectories"
    yield ""
    yield from (f"- {line}" for line in _sums(review))
    for episode in review.episodes:
        yield ""
        yield f"#### {_plain(episode.trajectory.name)}"
        yield ""
        yield episode_summary(episode)
        if episode.as_findings():
            yield ""
            yield from findings_table(episode.as_findings())


def _sums(review: SetReview) -> Iterator[str]:
    cost = f", ${review.cost_usd:.2f}" if review.cost_usd is not None else ""
    yield (
        f"{len(review.episodes)} episodes, {len(review.blocked)} blocked, "
        f"median {review.median_steps:g} steps{cost}"
    )
    for rule, severity, count in review.by_rule:
        yield f"{rule} ({severity}): {count} of {len(review.episodes)} episodes"
    for name, reason in review.others:
        yield f"not read: {_plain(name)}: {_plain(reason)}"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("`", "'").replace("<", "&lt;")

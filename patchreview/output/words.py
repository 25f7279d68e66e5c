"""Reviews as lines for a terminal, and as Markdown for a comment."""

from collections import Counter
from collections.abc import Iterator, Sequence

from patchreview.findings import Finding, Severity
from patchreview.reviewer import Review

_TITLES = {Severity.BLOCK: "Stops the patch", Severity.WARN: "Wants a look", Severity.NOTE: "Notes"}


def lines(review: Review) -> Iterator[str]:
    """Yield one line for each finding with its evidence below, and the sum at the end."""
    for finding in review.findings:
        yield str(finding) + _precision(finding)
        if finding.evidence:
            yield f"    {finding.evidence}"
    yield summary(review)


def summary(review: Review) -> str:
    """Return the sum of a review in one line."""
    counts = Counter(finding.severity for finding in review.findings)
    said = ", ".join(f"{counts[severity]} {severity}" for severity in Severity)
    verdict = "blocked" if review.blocked else "not blocked"
    return f"{verdict}: {said}; {review.files} files, {review.lines} lines"


def markdown(review: Review) -> Iterator[str]:
    """Yield the lines of a comment; foreign text stays within code."""
    yield f"### Review: {summary(review)}"
    for severity in Severity:
        found = [finding for finding in review.findings if finding.severity is severity]
        if found:
            yield ""
            yield f"**{_TITLES[severity]}**"
            yield ""
            yield from findings_table(found)


def findings_table(found: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of a table of findings; foreign text in it is no markup."""
    yield "| rule | place | what | evidence |"
    yield "|---|---|---|---|"
    for finding in found:
        place = _code(f"{finding.path}:{finding.line}" if finding.line else finding.path)
        yield f"| {finding.rule} | {place} | {_cell(finding.message)} | {_code(finding.evidence)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    """Return text as code in a cell: nothing in it is markup, whatever it holds."""
    plain = " ".join(text.split()).replace("|", "\\|")
    if not plain:
        return ""
    fence = "`" * (1 + max((len(run) for run in plain.split("`") if not run), default=0) + plain.count("`"))
    return f"{fence} {plain} {fence}" if "`" in plain else f"`{plain}`"


def _precision(finding: Finding) -> str:
    if finding.severity is not Severity.BLOCK or finding.precision is None:
        return ""
    return f" (right in {finding.precision:.1%} of what it stopped)"

"""Reviews in SARIF 2.1.0, which code hosts and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; written by hand, as we need a small part
of it and the library for it knows nothing but its own classes.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from patchreview.findings import Finding, Severity
from patchreview.interface import Rule
from patchreview.measured import measures
from patchreview.rules import all_rules
from swequarry import __version__

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.BLOCK: "error", Severity.WARN: "warning", Severity.NOTE: "note"}


def sarif(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return a log with one run, as JSON has it."""
    found = list(findings)
    described = {rule.code: _rule(rule) for rule in all_rules()}
    for finding in found:
        described.setdefault(finding.rule, {"id": finding.rule, "shortDescription": {"text": finding.rule}})
    index = {code: place for place, code in enumerate(described)}
    driver = {"name": "swequarry-review", "version": __version__, "rules": list(described.values())}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(one, index) for one in found]}],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    measure = measures().get(rule.code)
    described: dict[str, Any] = {
        "id": rule.code,
        "shortDescription": {"text": rule.catches},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }
    if measure is not None and measure.precision is not None:
        described["properties"] = {"measuredPrecision": round(measure.precision, 4)}
    return described


def _result(finding: Finding, index: dict[str, int]) -> dict[str, Any]:
    said = finding.message + (f": {finding.evidence}" if finding.evidence else "")
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": said},
        "partialFingerprints": {"finding/v1": _fingerprint(finding)},
    }
    if finding.precision is not None:
        result["properties"] = {"measuredPrecision": round(finding.precision, 4)}
    if finding.path:
        place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}}
        if finding.line:
            place["region"] = {"startLine": finding.line}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _fingerprint(finding: Finding) -> str:
    """Return what stays when the lines above a finding change."""
    parts = (finding.rule, finding.path, finding.evidence or finding.message)
    return sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]

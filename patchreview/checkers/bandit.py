"""Bandit (https://bandit.readthedocs.io): what may be unsafe in source, not in tests."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from patchreview.checkers.sides import Changed, Said, only_new, output_of, program
from patchreview.findings import Finding, Severity
from swequarry.git.testpaths import PathRole, classify_path

CODE = "security"
_SEVERITIES = {"HIGH": Severity.WARN, "MEDIUM": Severity.WARN, "LOW": Severity.NOTE}


def check(files: Sequence[Changed]) -> Iterator[Finding]:
    """Yield what bandit newly says; nothing where it isn't installed."""
    bandit = program("bandit")
    sources = [file for file in files if classify_path(file.new_path) is PathRole.SOURCE]
    if bandit is None or not sources:
        return
    names = [file.name for file in sources]
    before = _said(bandit, names, [file.before for file in sources])
    after = _said(bandit, names, [file.after for file in sources])
    yield from only_new(CODE, before, after)


def _said(bandit: str, names: Sequence[str], sources: Sequence[bytes]) -> list[Said] | None:
    """Return what bandit says of some files; None where it gave no answer."""
    with TemporaryDirectory(prefix="swequarry-review-") as folder:
        places = {str(Path(folder) / f"{number}.py"): name for number, name in enumerate(names)}
        for place, source in zip(places, sources, strict=True):
            Path(place).write_bytes(source)
        argv = [bandit, "--quiet", "--format", "json", "--exit-zero", "--ignore-nosec", *places]
        output = output_of(argv, folder=Path(folder))
    try:
        found: list[dict[str, Any]] = json.loads(output.text if output else b"")["results"]
    except (ValueError, KeyError, TypeError):
        return None
    return list(_parsed(found, places))


def _parsed(found: Sequence[Mapping[str, Any]], places: Mapping[str, str]) -> Iterator[Said]:
    for one in found:
        name = places.get(str(one.get("filename")))
        if name is not None:
            yield Said(
                name=name,
                kind=str(one.get("test_id")),
                message=str(one.get("issue_text")),
                line=int(one.get("line_number", 0)),
                severity=_SEVERITIES.get(str(one.get("issue_severity")), Severity.NOTE),
            )

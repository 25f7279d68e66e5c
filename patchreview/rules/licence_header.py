"""Licence and copyright lines that go or come."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "licence-header"
_LINE = re.compile(
    rb"SPDX-License-Identifier|\bCopyright\b.*\d{4}|Licensed under the"
    rb"|All rights reserved|GNU (?:Lesser )?General Public",
    re.IGNORECASE,
)
_FILE = re.compile(rb"(?:licen[cs]e|copying|notice)(?:[-_.][^/]*)?")


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        if file.path in case.gold_paths:
            continue
        if _FILE.fullmatch(file.base_name) and not file.language and not file.is_test:
            yield at(_CODE, Severity.WARN, file, "the licence is changed")
            continue
        removed = [line for line in file.removed if _LINE.search(line.raw)]
        added = [line for line in file.added if _LINE.search(line.raw)]
        if removed and not added and not file.deleted:
            yield at(_CODE, Severity.WARN, file, "a licence header goes", removed[0].number, removed[0].raw)
        elif added and not removed and not file.created and file.language:
            yield at(_CODE, Severity.NOTE, file, "a licence header comes", added[0].number, added[0].raw)


RULE = Rule(code=_CODE, severity=Severity.WARN, catches="licence headers that go or come", check=_check)

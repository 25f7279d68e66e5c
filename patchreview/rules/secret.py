"""Keys and tokens in what a patch adds."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at
from swequarry.text.secrets import SECRETS

_CODE = "secret"
_ANY = re.compile("|".join(SECRETS.values()).encode())


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.files:
        for line in file.added:
            if _ANY.search(line.raw):
                kind = next(
                    name for name, pattern in SECRETS.items() if re.search(pattern.encode(), line.raw)
                )
                severity = Severity.WARN if file.is_test else Severity.BLOCK
                yield at(
                    _CODE, severity, file, f"what looks like a {kind}; it isn't repeated here", line.number
                )


RULE = Rule(code=_CODE, severity=Severity.BLOCK, catches="keys and tokens", check=_check)

"""Files that were left behind: reproductions, backups, rejected hunks."""

import re
from collections.abc import Iterable

from patchreview.findings import Finding, Severity
from patchreview.interface import Case, Rule, at

_CODE = "stray-file"
_LEFTOVER = re.compile(
    rb"[^/]*(?:\.orig|\.rej|\.bak|\.swp|\.swo|~|\.old|\.tmp|\.log|\.patch|\.diff|\.backup)|\.ds_store|nohup\.out|core"
    rb"|(?:report|junit|coverage|results?)\.xml|\.coverage"
)
_SCRIPT = re.compile(
    rb"(?:repro\w*|reproduc\w*|debug\w*|scratch\w*|playground\w*|demo_fix\w*|verify_\w*|check_fix\w*|fix_\w*|test_(?:fix|issue|bug|repro)\w*"
    rb"|temp\w*|tmp\w*|issue_?\d*\w*|patch_\w*|run_test\w*|simple_test\w*|final_\w*)\.(?:py|sh|ipynb|js)"
    rb"|(?:summary|solution|fix_summary|changes_made|notes?)\.(?:md|txt)"
)


def _check(case: Case) -> Iterable[Finding]:
    for file in case.diff.every:
        if not file.created or file.path in case.gold_paths:
            continue
        if _LEFTOVER.fullmatch(file.base_name):
            yield at(_CODE, Severity.WARN, file, "a file that a tool or an editor left behind")
        elif _SCRIPT.fullmatch(file.base_name) and file.path.count(b"/") <= 1:
            yield at(_CODE, Severity.WARN, file, "a script for trying things out")
        elif b"/" not in file.path and file.language == "python" and not file.is_test:
            yield at(_CODE, Severity.NOTE, file, "a new script at the top of the repository")


RULE = Rule(
    code=_CODE,
    severity=Severity.WARN,
    catches="reproduction scripts, backups, rejected hunks, logs",
    check=_check,
)

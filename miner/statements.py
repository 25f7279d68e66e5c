"""The first version of a problem statement: the linked issues' words, else the pull request's messages."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from miner.sources.issues import KnownIssue
from swequarry.git.subjects import split_message
from swequarry.records import PullRecord, Statement, StatementKind

FROM_COMMITS = "statement_from_commits"
DIFF_REMOVED = "diff_removed_from_statement"

_HUNK = re.compile(r"[ \t]*@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_FILE_HEAD = re.compile(r"[ \t]*(?:diff --(?:git|cc|combined) |Index: \S|=====+$)")
_HEADER_LINE = re.compile(
    r"[ \t]*(?:index [0-9a-f]+\.\.|(?:new|deleted) file mode |(?:old|new) mode |(?:dis)?similarity index "
    r"|(?:rename|copy) (?:from|to) |Binary files |GIT binary patch|(?:literal|delta) \d+$|--- \S|\+\+\+ \S)"
)
_OLD_AND_NEW = re.compile(r"[ \t]*--- \S[^\n]*\n[ \t]*\+\+\+ \S")
_FENCE = re.compile(r"^( {0,3})(```+|~~~+)[^\n]*\n.*?(?:^\1?\2[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_FENCED_DIFF = re.compile(
    r"^(?:```+|~~~+) *(?:diff|patch)\b|^@@ -\d|^diff --git |^[-+]{3} [ab]/", re.MULTILINE
)
_TRAILER = re.compile(
    r"(?:co-authored-by|signed-off-by|reviewed-by|acked-by|tested-by|reported-by|change-id|git-svn-id"
    r"|reviewed-on|cherry-picked-from|commit-queue|pr-url):\s.*|\(cherry picked from commit .*\)"
    r"|\* (?:\[pre-commit\.ci\].*|merge (?:remote-tracking )?branch .*)|---------",
    re.IGNORECASE,
)
_NO_WORDS = re.compile(
    r"Merge (?:remote-tracking )?(?:branch|commit|tag|pull request)\b|\[pre-commit\.ci\]"
    r"|(?:fixup|squash|amend)! "
)


def without_diffs(text: str) -> str:
    """Remove everything that is written as a diff: fenced blocks of one, and bare ones to their last hunk.

    A statement that shows the change is no problem statement.
    """
    text = _FENCE.sub(lambda m: "" if _FENCED_DIFF.search(m[0]) else m[0], text)
    return "\n".join(_lines_outside_diffs(text.split("\n")))


def _lines_outside_diffs(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that belong to no bare diff; a hunk is as long as its head says."""
    old = new = 0
    in_header = False
    for place, line in enumerate(lines):
        if old > 0 or new > 0:
            mark = line.strip(" \t")[:1] if line.strip() else " "
            old -= mark != "+"
            new -= mark != "-"
        elif found := _HUNK.match(line):
            old, new = int(found["old"] or 1), int(found["new"] or 1)
        elif line.startswith("\\ No newline"):
            continue
        else:
            pair = _OLD_AND_NEW.match("\n".join(lines[place : place + 2]))
            in_header = bool(_FILE_HEAD.match(line) or pair or (in_header and _HEADER_LINE.match(line)))
            if not in_header:
                yield line


def _clean(message: str) -> str:
    lines = [line.rstrip() for line in without_diffs(message).split("\n")]
    kept = [line for line in lines if not _TRAILER.fullmatch(line.strip())]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def statement_from_messages(pull: PullRecord) -> tuple[Statement, tuple[str, ...]]:
    """Make a statement of a pull request's title, body and commit messages, and the flags that it earns.

    Its text may be empty. It says what was changed rather than what was wrong, so such tasks are kept apart.
    """
    parts = [part for part in (pull.title, pull.body) if part]
    for message in pull.commit_messages:
        subject, _ = split_message(message)
        if not _NO_WORDS.match(subject) and not _said(message, parts):
            parts.append(message)
    cleaned = [text for part in parts if (text := _clean(part))]
    text = "\n\n".join(dict.fromkeys(cleaned))
    flags = [FROM_COMMITS]
    if any(without_diffs(part) != part for part in parts):
        flags.append(DIFF_REMOVED)
    return Statement(kind=StatementKind.COMMITS, text=text), tuple(flags)


def _said(message: str, parts: Sequence[str]) -> bool:
    """Whether a squash message or a lone commit only repeats the title and body."""
    subject, body = split_message(message)
    title_said = any(subject == part or subject.startswith(f"{part} (#") for part in parts)
    return title_said and (not body or any(body in part for part in parts))


def statement_from_issues(issues: Sequence[KnownIssue], first_commit_at: datetime | None) -> Statement:
    """Make a statement of the linked issues: title and body of each, in the order of the links.

    Hints are the comments known to be older than the pull request's first commit; a comment without a date
    might tell the answer and is left out.
    """
    texts = ["\n".join(part for part in (i.title, i.body) if part).strip() for i in issues]
    hints = [
        comment.text.strip()
        for issue in issues
        for comment in issue.comments
        if comment.created_at and first_commit_at and comment.created_at < first_commit_at
    ]
    return Statement(
        kind=StatementKind.ISSUE,
        text="\n\n".join(text for text in texts if text),
        hints="\n".join(hint for hint in hints if hint),
        issue_numbers=tuple(issue.number for issue in issues),
    )

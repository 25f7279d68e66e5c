"""The first version of a problem statement: the linked issues' words, else the pull request's messages."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from swequarry.git.subjects import split_message
from swequarry.records import (
    IssueComment,
    IssueRecord,
    PullRecord,
    Statement,
    StatementKind,
    TextVersion,
)

FROM_COMMITS = "statement_from_commits"
DIFF_REMOVED = "diff_removed_from_statement"
EDIT_UNDONE = "issue_edited_later"
"""Flag: the issue was edited after the fix was begun; the statement is what it said before."""
EDIT_NOT_UNDONE = "issue_edited_later_text_unknown"
"""Flag: as above, but the earlier text is gone or unknown: the statement is what the issue says now."""
ISSUE_AFTER_FIX = "issue_after_first_commit"
"""Flag: the issue was written when the fix was already begun, perhaps by somebody who had it."""

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
_TEMPLATE = re.compile(
    r"<!--.*?(?:-->|\Z)|^[ \t]*#{1,6}[ \t][^\n]*$|^_No response_$", re.MULTILINE | re.DOTALL
)
"""What an issue form has before anybody fills it in."""
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


def first_moment(*moments: datetime | None) -> datetime | None:
    """Return the earliest of the moments that are known: when the fix was begun, at the latest."""
    return min((moment for moment in moments if moment is not None), default=None)


def statement_from_issues(
    issues: Sequence[IssueRecord], begun_at: datetime | None, *, title_alone: bool = True
) -> tuple[Statement, tuple[str, ...]]:
    """Make a statement of the linked issues, in the order of the links, and the flags that it earns.

    Title and body of each are taken as they were when the fix was begun. Hints are the comments known to be
    older than that and not edited since; a comment without a date might tell the answer and is left out.
    The text is empty where no issue has a body and a title alone won't do.
    """
    flags: list[str] = []
    texts, bodies = [], []
    for issue in issues:
        title, body = _as_of(issue, begun_at, flags)
        bodies.append(body)
        texts.append("\n".join(part for part in (title, body) if part).strip())
    enough = title_alone or any(_TEMPLATE.sub("", body).strip() for body in bodies)
    hints = [
        comment.text.strip() for issue in issues for comment in issue.comments if _is_older(comment, begun_at)
    ]
    statement = Statement(
        kind=StatementKind.ISSUE,
        text="\n\n".join(text for text in texts if text) if enough else "",
        hints="\n".join(hint for hint in hints if hint),
        issue_numbers=tuple(issue.number for issue in issues),
    )
    return statement, tuple(dict.fromkeys(flags))


def _is_older(comment: IssueComment, begun_at: datetime | None) -> bool:
    if comment.created_at is None or begun_at is None or comment.created_at >= begun_at:
        return False
    return comment.edited_at is None or comment.edited_at < begun_at


def _as_of(issue: IssueRecord, begun_at: datetime | None, flags: list[str]) -> tuple[str, str]:
    """Return title and body as they were when the fix was begun, and flag what can't be known."""
    if begun_at is not None and issue.created_at is not None and issue.created_at >= begun_at:
        flags.append(ISSUE_AFTER_FIX)
    title = _version(issue.title or "", issue.title_versions, begun_at, flags)
    body = _version(issue.body or "", issue.body_versions, begun_at, flags)
    edited = issue.edited_at
    if issue.body_versions is None and edited and begun_at and edited >= begun_at:
        flags.append(EDIT_NOT_UNDONE)
    return title, body


def _version(
    now: str, versions: Sequence[TextVersion] | None, begun_at: datetime | None, flags: list[str]
) -> str:
    """Return the last version from before a moment; the first one, where the text is no older than that."""
    if not versions or begun_at is None:
        return now
    ordered = sorted(versions, key=lambda version: version.at)
    before = [version for version in ordered if version.at < begun_at] or ordered[:1]
    if before[-1].text is None:
        flags.append(EDIT_NOT_UNDONE)
        return now
    text = before[-1].text.replace("\r\n", "\n")
    if text.strip() != now.strip():
        flags.append(EDIT_UNDONE)
    return text

"""What a commit message says about pull requests: numbers, titles, reverts. Pure text, no git.

Forms are those of the merge buttons and bots in use: GitHub's merge and squash buttons, bors, homu,
GitLab, Bitbucket, Azure DevOps, and `git merge` of a fetched pull request ref.
"""

import re
from dataclasses import dataclass

_GITHUB_MERGE = re.compile(r"Merged? pull request #([1-9]\d{0,8})\b(?: (?:from|in|branch)\b.*|[:.]? ?.*)?$")
_HOMU = re.compile(r"Auto merge of #([1-9]\d{0,8}) - .*")
_BORS = re.compile(r"(?:Merge|Try) ((?:#[1-9]\d{0,8}(?: |$))+)(?:r=.*)?$")
_BITBUCKET = re.compile(r"Merged in \S.* \(pull request #([1-9]\d{0,8})\)$")
_NAMED = re.compile(
    r"(?:Merge(?:d)? (?:PR|pull[- ]request|merge request)|Pull request) [#!]?([1-9]\d{0,8})\b.*",
    re.IGNORECASE,
)
_PULL_REF = re.compile(
    r"Merge (?:remote-tracking )?(?:branch|commit|ref)?s? ?"
    r"'(?:refs/)?(?:remotes/)?(?:[\w.-]+/)??(?:pr|pull|pulls|merge-requests)/([1-9]\d{0,8})(?:/(?:head|merge))?'.*"
)
_GITLAB_BODY = re.compile(r"^See merge request (?:[\w./-]+)?!([1-9]\d{0,8})\s*$", re.MULTILINE)
_SQUASH = re.compile(r"(.*\S)?\s*\((?:PR |GH-)?#([1-9]\d{0,8})\)$")
_SQUASH_GITLAB = re.compile(r"(.*\S)?\s*\(!([1-9]\d{0,8})\)$")

_REVERTED_SHA = re.compile(r"This reverts (?:merge )?commits? ([0-9a-f]{7,40})\b")
_REVERTED_NUMBER = re.compile(r"^Reverts (?:[\w.-]+/[\w.-]+)?#([1-9]\d{0,8})\b", re.MULTILINE)
_REVERT_SUBJECT = re.compile(
    r"Revert \"(?:Merge pull request #([1-9]\d{0,8})\b.*|(?!Revert \").*\(#([1-9]\d{0,8})\))\""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMention:
    """The pull requests that a message names as merged.

    `numbers` has several members for a batch. `certain` is true for the form that GitHub's own merge button
    writes; the others also occur with numbers of another forge or of an issue and want a second look.
    """

    numbers: tuple[int, ...]
    title: str | None
    body: str
    certain: bool = False


def split_message(message: str) -> tuple[str, str]:
    """Return the subject (first line) and the body of a commit message, without outer blanks."""
    subject, _, body = message.strip().partition("\n")
    return subject.strip(), body.strip()


def merged_by_merge(message: str) -> PullMention | None:
    """Read the message of a merge commit: the pull requests it names, title and body where it has them."""
    subject, body = split_message(message)
    title, _, rest = body.partition("\n")
    if found := _GITHUB_MERGE.fullmatch(subject):
        return PullMention(
            numbers=(int(found[1]),), title=title.strip() or None, body=rest.strip(), certain=True
        )
    for pattern in (_HOMU, _BITBUCKET, _NAMED, _PULL_REF):
        if found := pattern.fullmatch(subject):
            return PullMention(numbers=(int(found[1]),), title=title.strip() or None, body=rest.strip())
    if found := _BORS.fullmatch(subject):
        numbers = tuple(dict.fromkeys(int(n) for n in re.findall(r"\d+", found[1])))
        return PullMention(numbers=numbers, title=None, body=body)
    if named := _GITLAB_BODY.findall(body):
        text = _GITLAB_BODY.sub("", body).strip()
        title, _, rest = text.partition("\n")
        return PullMention(numbers=(int(named[-1]),), title=title.strip() or None, body=rest.strip())
    return merged_by_squash(message)


def merged_by_squash(message: str) -> PullMention | None:
    """Read the subject of a squash commit, `Title (#N)`; the last number is the pull request's."""
    subject, body = split_message(message)
    ends = subject.endswith(")")  # saves both searches for most messages
    found = (_SQUASH.fullmatch(subject) or _SQUASH_GITLAB.fullmatch(subject)) if ends else None
    if found is None:
        return None
    return PullMention(numbers=(int(found[2]),), title=found[1], body=body)


def reverted_commits(message: str) -> tuple[str, ...]:
    """Return the (possibly abbreviated) hashes that a message says it reverts."""
    return tuple(dict.fromkeys(_REVERTED_SHA.findall(message)))


def reverted_pulls(message: str) -> tuple[int, ...]:
    """Return the pull requests that a message says it reverts, by number."""
    subject, body = split_message(message)
    numbers = [int(n) for n in _REVERTED_NUMBER.findall(body)]
    if found := _REVERT_SUBJECT.match(subject):
        numbers.append(int(found[1] or found[2]))
    return tuple(dict.fromkeys(numbers))

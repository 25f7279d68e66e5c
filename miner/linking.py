"""Which issues a pull request says it resolves, by GitHub's closing keywords.

Text is parsed as Markdown first, so that nothing in code, comments, quotations or struck-out text links.
The keywords and the forms of a reference are those of GitHub's page "Linking a pull request to an issue":
close, fix, resolve and their forms, an optional colon, then `#1`, `GH-1`, `owner/repo#1` or the URL.
What GitHub's own matcher ignores is judged here: a negation just before the keyword makes the link
ambiguous, with the sentence kept as evidence. Ambiguous links never make a statement. Of a list (`fixes #1,
#2 and #3`) GitHub closes the first member only; people mean all of them: the others are links too, inferred.

What GitHub itself says of links is added in `miner.evidence`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

from swequarry.records import Confidence, IssueLink, LinkPlace, RepoRef

MAX_TEXT_CHARS = 65_536
"""GitHub's own limit of a body; what is longer is cut there before it is parsed."""

NEGATED = "negated"
TARGET_IS_PULL_REQUEST = "target_is_pull_request"

_HOLE = "\ufffc"
_TARGET_FORM = (
    r"(?:(?P<repo>[\w.-]{1,100}/[\w.-]{1,100})?\#|GH-"
    r"|https?://(?:www\.)?github\.com/(?P<url_repo>[\w.-]{1,100}/[\w.-]{1,100})/(?P<kind>issues|pull)/)"
    r"(?P<number>[1-9][0-9]{0,8})(?![\w/])"
)
_REFERENCE = re.compile(
    r"(?<![\w-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?:[ \t]*:[ \t]*|[ \t]+|\n)" + _TARGET_FORM,
    re.IGNORECASE | re.ASCII,
)
_NEXT_MEMBER = re.compile(
    r"[ \t]*(?:,[ \t]*(?:and[ \t]+|&[ \t]*)?|&[ \t]*|\band[ \t]+)(?:issues?[ \t]+)?"
    + _TARGET_FORM
    + r"(?=[ \t]*(?:[,.;:)&\n]|and\b|$))",
    re.IGNORECASE | re.ASCII,
)
_NEGATION = re.compile(
    r"(?:\b(?:not|never|without|neither|nor|cannot|no\s+longer|rather\s+than|instead\s+of|partially|partly"
    r"|revert|reverts|reverted|reverting)\b|n['\u2019]t\b|\bunable\s+to\b|\bfails?\s+to\b)"
    r"(?!\s+only\b)(?:[\s\"'\u2019(*_:]+[\w'\u2019-]+){0,3}[\s\"'\u2019(*_:]*$",
    re.IGNORECASE,
)
_PERHAPS = re.compile(
    r"(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[^A-Za-z0-9#]{1,40}(?:[\w.-]+/[\w.-]+)?(?:\#|GH-|https?://)",
    re.IGNORECASE,
)
"""What a text without tags, links and entities has, if parsing it can show a reference."""
_MARKDOWN_SIGNS = re.compile(
    r"[`*~<>\[\]\\&|\0]|(?<!\w)_|_(?!\w)|^(?: {2,}|[ \t]*\t| ?\#{1,6}[ \t]| ?(?:\d+[.)]|[-+])(?:[ \t]{2}|$))",
    re.MULTILINE,
)
"""What a text has that Markdown reads otherwise than it stands; most commit messages have none of it."""
_LINE_ENDS = re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t]*")
_MARKUP = re.compile(r"<[/!A-Za-z][^<>@]*>|&\#?\w|\](?:\(|\[)")
_EMPHASIS = re.compile(r"[*_~\\]+")
_QUOTE_THEN_TEXT = re.compile(r"^( {0,3}>[^\n]*\n)(?= {0,3}[^\s>])", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?;\n\ufffc](?=\s|$)|\n")
_QUOTE_CHARS = 160
_SKIPPED_ELEMENTS = frozenset({"code", "pre", "blockquote", "del", "s", "strike", "script", "style", "kbd"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkText:
    """A text of a pull request to search, and where it stands."""

    place: LinkPlace
    text: str


class _VisibleText(HTMLParser):
    """Collects what a reader sees of an HTML block; unclosed comments swallow the rest, as in a browser."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.parts.append(_HOLE if tag in _SKIPPED_ELEMENTS else "")
        self._hidden += tag in _SKIPPED_ELEMENTS

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED_ELEMENTS and self._hidden:
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def _visible_html(source: str) -> str:
    opened = source.rfind("<!--")
    if opened >= 0 and "-->" not in source[opened:]:
        source = source[:opened]
    parser = _VisibleText()
    with suppress(AssertionError, ValueError):
        # The standard parser gives up on some broken declarations; nothing after them is read.
        parser.feed(source)
    return "".join(parser.parts)


def _inline_text(children: Sequence[Token]) -> str:
    parts: list[str] = []
    hidden = 0
    for token in children:
        if token.type == "s_open":
            hidden += 1
        elif token.type == "s_close":
            hidden -= 1
        elif token.type == "html_inline":
            step = _html_step(token.content)
            hidden = max(0, hidden + step)
            parts.append(_HOLE if step else "")
        elif hidden or token.type in {"code_inline", "image", "text_special"}:
            parts.append(_HOLE)
        elif token.type in {"softbreak", "hardbreak"}:
            parts.append("\n")
        elif token.type == "text":
            parts.append(token.content)
    return "".join(parts).partition("<!--")[0]


def _html_step(tag: str) -> int:
    match = re.match(r"<(/?)([A-Za-z][A-Za-z0-9]*)", tag)
    if match is None or match[2].lower() not in _SKIPPED_ELEMENTS or tag.endswith("/>"):
        return 0
    return -1 if match[1] else 1


def _parser() -> MarkdownIt:
    # `text_join` would fold backslash escapes into plain text, and `\#1` is no reference.
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["strikethrough", "table"])
    return markdown.disable(["text_join"])


_MARKDOWN = _parser()


def visible_passages(text: str) -> Iterator[str]:
    """Yield the passages of a Markdown text that can hold a reference: no code, comments or quotations.

    A line below a quotation that doesn't start with `>` is the writer's own, though CommonMark would count
    it to the quotation (section 5.1, laziness): people forget the blank line more often than the mark.
    """
    if _MARKDOWN_SIGNS.search(text) is None:
        yield _LINE_ENDS.sub("\n", text[:MAX_TEXT_CHARS])
        return
    quoted = 0
    source = _QUOTE_THEN_TEXT.sub(r"\1\n", text[:MAX_TEXT_CHARS])
    for token in _MARKDOWN.parse(source):
        if token.type == "blockquote_open":
            quoted += 1
        elif token.type == "blockquote_close":
            quoted -= 1
        elif quoted:
            continue
        elif token.type == "inline":
            yield _inline_text(token.children or ())
        elif token.type == "html_block":
            yield _visible_html(token.content)


def _sentence_before(passage: str, start: int) -> str:
    ends = [m.end() for m in _SENTENCE_END.finditer(passage, max(0, start - 400), start)]
    return passage[ends[-1] if ends else max(0, start - 400) : start]


def _links_of(passage: str, place: LinkPlace, repo: RepoRef) -> Iterator[IssueLink]:
    for match in _REFERENCE.finditer(passage):
        before = _sentence_before(passage, match.start())
        negated = _NEGATION.search(before) is not None
        yield _link(match, place, repo, quote=before[-_QUOTE_CHARS:] + match[0], negated=negated)
        member = _NEXT_MEMBER.match(passage, match.end())
        while member is not None:
            quote = passage[match.start() : member.end()][-_QUOTE_CHARS:]
            link = _link(member, place, repo, quote=quote, negated=negated)
            yield replace(link, confidence=Confidence.INFERRED)
            member = _NEXT_MEMBER.match(passage, member.end())


def _link(match: re.Match[str], place: LinkPlace, repo: RepoRef, *, quote: str, negated: bool) -> IssueLink:
    other = match["repo"] or match["url_repo"]
    here = other is None or other.lower() == repo.full_name.lower()
    ambiguous = NEGATED if negated else None
    if match["kind"] and match["kind"].lower() == "pull":
        ambiguous = ambiguous or TARGET_IS_PULL_REQUEST
    return IssueLink(
        number=int(match["number"]),
        place=place,
        quote=" ".join(quote.split()),
        repo=None if here else other,
        ambiguous=ambiguous,
    )


def _merge(links: Iterable[IssueLink]) -> tuple[IssueLink, ...]:
    """Keep one link for each issue, in order of appearance; an ambiguous mention outweighs a clear one.

    What is stated anywhere is stated, whether or not a list has it too.
    """
    kept: dict[tuple[str | None, int], IssueLink] = {}
    for link in links:
        key = (link.repo and link.repo.lower(), link.number)
        known = kept.get(key)
        if known is None:
            kept[key] = link
        elif link.ambiguous and not known.ambiguous:
            kept[key] = replace(known, ambiguous=link.ambiguous, quote=link.quote)
        elif link.confidence is Confidence.STATED and known.confidence is Confidence.INFERRED:
            kept[key] = replace(link, ambiguous=known.ambiguous or link.ambiguous)
    return tuple(kept.values())


def _may_link(text: str) -> bool:
    """Whether parsing a text can show a reference: markup can stand between keyword and target, no words."""
    if _PERHAPS.search(text) or (_EMPHASIS.search(text) and _PERHAPS.search(_EMPHASIS.sub("", text))):
        return True
    if _MARKUP.search(text) is None:
        return False
    lowered = text.lower()
    return any(word in lowered for word in ("close", "fix", "resolve")) and (
        "#" in lowered or "gh-" in lowered or "github.com/" in lowered or "&" in lowered
    )


def find_links(texts: Iterable[LinkText], repo: RepoRef) -> tuple[IssueLink, ...]:
    """Return the issues that the texts of one pull request say they resolve.

    Order is that of `texts` and of appearance in them; each issue comes once. `repo` is the pull
    request's own repository: `IssueLink.repo` is None for its issues and names any other one.
    """
    found: list[IssueLink] = []
    for item in texts:
        if not _may_link(item.text):
            continue  # parsing is the slow part
        for passage in visible_passages(item.text):
            found.extend(_links_of(passage, item.place, repo))
    return _merge(found)

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
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
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
_KEYWORDS = ("close", "fix", "resolve")
_PERHAPS = re.compile(
    r"(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?:[^a-z0-9#]{1,40}|[\s:]+)"
    r"[\w./-]{0,201}(?:\#|gh-|https?://)"
)
"""What a text in lower case, without tags, links, entities and emphasis, has if it can show a reference."""
_BLOCK_SIGNS = re.compile(
    r"```|~~~|[|\t\r\0]|\]:|^[ \d.)*+-]*[>#<]"
    r"|^(?: {2,}| ?\d+[.)](?: |$)| ?[-+*](?:  |$)|(?!---+ *$)[ *=_-]+$)",
    re.MULTILINE,
)
"""What a text has whose blocks aren't paragraphs and simple lists."""
_INLINE_SIGNS = re.compile(r"[`~\\*]|(?<!\w)_|_(?!\w)|<[A-Za-z/!?]|\][(\[]|&[\#\w]")
"""What a block has that Markdown reads otherwise than it stands; most commit messages have none of it."""
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"<(?![^>]*xn--)([A-Za-z0-9.+_-]+@{_LABEL}(?:\.{_LABEL})*)>", re.IGNORECASE)
"""An address of e-mail as trailers have it: Markdown shows it without the brackets."""
_BLOCK_END = re.compile(r"\n ?\n\s*|\n---+ *(?:\n|$)|\n(?= ?[-+*] )")
_BULLETS = re.compile(r"^ ?(?:[-+*] )+", re.MULTILINE)
_LINE_ENDS = re.compile(r" *\n *")
_MARKUP = re.compile(r"<[/!?A-Za-z](?![\w.+-]*@)|&\#?\w|\](?:\(|\[)")
_EMPHASIS = "*_~\\"
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
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["strikethrough", "table"])
    # Blocks are read on demand; `text_join` would fold backslash escapes into plain text, and `\#1` is no
    # reference.
    markdown.core.ruler.disable(["inline", "text_join"])
    return markdown


_BLOCKS = _parser()
"""Finds the blocks of a text; what is in them isn't read."""


def visible_passages(text: str) -> Iterator[str]:
    """Yield what a reader sees of a Markdown text, passage by passage: no code, comments or quotations.

    A line below a quotation that doesn't start with `>` is the writer's own, though CommonMark would count
    it to the quotation (section 5.1, laziness): people forget the blank line more often than the mark.
    """
    return _passages(text, lambda _: True)


def _passages(text: str, is_read: Callable[[str], bool]) -> Iterator[str]:
    """Yield the visible passages of those blocks whose source `is_read`: the parser is the slow part."""
    text = text[:MAX_TEXT_CHARS].replace("\r\n", "\n")
    if _BLOCK_SIGNS.search(text):
        yield from _parsed_passages(_QUOTE_THEN_TEXT.sub(r"\1\n", text), is_read)
        return
    plain = _BULLETS.sub("", text)
    if not _has_inline_signs(plain):
        yield _as_it_stands(plain)
        return
    for block in filter(is_read, (_BULLETS.sub("", block) for block in _BLOCK_END.split(text))):
        yield _inline_passage(block.strip(), {}) if _has_inline_signs(block) else _as_it_stands(block)


def _has_inline_signs(text: str) -> bool:
    return _INLINE_SIGNS.search(_ADDRESS.sub("<>", text) if "@" in text else text) is not None


def _as_it_stands(text: str) -> str:
    return _LINE_ENDS.sub("\n", _ADDRESS.sub(r"\1", text) if "@" in text else text)


def _inline_passage(block: str, definitions: MutableMapping[str, object]) -> str:
    children: list[Token] = []
    _BLOCKS.inline.parse(block, _BLOCKS, definitions, children)
    return _inline_text(children)


def _parsed_passages(source: str, is_read: Callable[[str], bool]) -> Iterator[str]:
    quoted = 0
    definitions: dict[str, object] = {}
    for token in _BLOCKS.parse(source, definitions):
        if token.type == "blockquote_open":
            quoted += 1
        elif token.type == "blockquote_close":
            quoted -= 1
        elif quoted or not token.content or not is_read(token.content):
            continue
        elif token.type == "inline":
            yield _inline_passage(token.content, definitions)
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
    lowered = text.lower()
    if "#" not in lowered and "-" not in lowered and "/" not in lowered and "&" not in lowered:
        return False
    bare = lowered
    for sign in _EMPHASIS:
        bare = bare.replace(sign, "")
    if "close" not in bare and "fix" not in bare and "resolve" not in bare:
        return False
    if _has_candidate(bare):
        return True
    if "#" not in bare and "gh-" not in bare and "github.com/" not in bare and "&" not in bare:
        return False
    return _MARKUP.search(lowered) is not None


def _has_candidate(bare: str) -> bool:
    for word in _KEYWORDS:
        at = bare.find(word)
        while at >= 0:
            if _PERHAPS.match(bare, at):
                return True
            at = bare.find(word, at + 1)
    return False


def find_links(texts: Iterable[LinkText], repo: RepoRef) -> tuple[IssueLink, ...]:
    """Return the issues that the texts of one pull request say they resolve.

    Order is that of `texts` and of appearance in them; each issue comes once. `repo` is the pull
    request's own repository: `IssueLink.repo` is None for its issues and names any other one.
    """
    found: list[IssueLink] = []
    for item in texts:
        if not _may_link(item.text):
            continue  # parsing is the slow part
        for passage in _passages(item.text, _may_link):
            found.extend(_links_of(passage, item.place, repo))
    return _merge(found) if found else ()

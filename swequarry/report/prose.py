"""Statements as HTML: Markdown in, a page fragment out that loads nothing and runs nothing.

Raw HTML in the statement stays text, images become their description, and only links to http, https and
mailto keep their target.
"""

from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from swequarry.report.visible import visible_prose

_LIMIT = 200_000
"""Characters; longer statements are shown as plain text."""
_SCHEMES = ("http://", "https://", "mailto:")


class _Renderer(RendererHTML):
    """Renders without anything that loads or leads elsewhere unasked."""

    def image(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """Render an image as its description and address: loading it would need the network."""
        token = tokens[idx]
        label = self.escape(token.content or "image")
        return f'<span class="image">[{label}: {self.escape(str(token.attrGet("src") or ""))}]</span>'

    @staticmethod
    def escape(text: str) -> str:
        """Escape text for HTML."""
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

    def link_open(self, tokens: Sequence[Token], idx: int, *_: object) -> str:
        """Open a link, without a target unless it's an address that a reader may follow."""
        href = str(tokens[idx].attrGet("href") or "")
        if not href.lower().startswith(_SCHEMES):
            return "<a>"
        return f'<a href="{self.escape(href)}" rel="noopener noreferrer nofollow" target="_blank">'


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(
        ["table", "strikethrough"]
    )


def statement_html(text: str) -> str | None:
    """Return a statement as an HTML fragment; None where it's too long to be worth it."""
    if len(text) > _LIMIT:
        return None
    html: str = _markdown().render(visible_prose(text))
    return html

"""Pages of a package index: read what an index serves, keep what existed at a date, write it again.

Pure. Reads the simple repository API as JSON (PEP 691, upload times from PEP 700) and as HTML (PEP 503,
with the attributes of PEP 592, 658 and 714); file addresses come out absolute.
"""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

from packaging.utils import canonicalize_name

from swequarry.errors import IndexUnavailableError
from swequarry.records import sha256_hex

JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "text/html"
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """One file of a distribution.

    `url` is absolute; `sha256` and `uploaded` are None where the index doesn't give them. `metadata` is
    None (not promised), "" (promised without a hash) or the SHA-256 of the PEP 658 file.
    """

    filename: str
    url: str
    sha256: str | None = None
    uploaded: datetime | None = None
    requires_python: str | None = None
    yanked: bool | str = False
    size_bytes: int | None = None
    metadata: str | None = None

    @property
    def token(self) -> str:
        """What names the file in our own addresses: its hash, else a hash of its address."""
        return self.sha256 or "url-" + sha256_hex(self.url.encode())

    @property
    def is_wheel(self) -> bool:
        """Whether the file is a wheel, so that its metadata can be served apart."""
        return self.filename.endswith(".whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """The part of an index that a build may see.

    Files uploaded at or after `cutoff` don't exist; `exempt` gives single distributions (normalised
    names) a later cut-off. `denied` distributions don't exist at all. A file without any date is hidden,
    unless its distribution is exempt by name: then it is shown, because there is nothing to compare.
    """

    cutoff: datetime | None = None
    exempt: Mapping[str, datetime] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()

    def cutoff_of(self, name: str) -> datetime | None:
        """Return the cut-off of one distribution, by normalised name."""
        later = self.exempt.get(name)
        if self.cutoff is None or later is None:
            return self.cutoff
        return max(self.cutoff, later)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a view leaves of a page: files shown, files hidden for want of a date, and the earliest upload.

    `earliest` is set only where every dated file is newer than the cut-off: either the distribution is
    younger than the project, or its files were deleted and uploaded again.
    """

    shown: tuple[IndexFile, ...]
    undated: tuple[IndexFile, ...] = ()
    earliest: datetime | None = None


def select(files: Sequence[IndexFile], name: str, view: IndexView) -> Selection:
    """Return what a view shows of the files of one distribution (normalised name)."""
    cutoff = view.cutoff_of(name)
    if cutoff is None:
        return Selection(shown=tuple(files))
    exempt = name in view.exempt
    undated = () if exempt else tuple(f for f in files if f.uploaded is None)
    shown = tuple(f for f in files if (exempt if f.uploaded is None else f.uploaded < cutoff))
    dates = [f.uploaded for f in files if f.uploaded is not None]
    earliest = min(dates) if dates and not shown and not undated else None
    return Selection(shown=shown, undated=undated, earliest=earliest)


def parse_page(body: bytes, content_type: str, page_url: str) -> tuple[IndexFile, ...]:
    """Read a project page of an index.

    Raises:
        IndexUnavailableError: what came isn't such a page (a login form, an error text, cut JSON).
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind.endswith("json"):
        return _parse_json(body, page_url)
    if kind in {HTML_TYPE, "application/vnd.pypi.simple.v1+html", "application/xhtml+xml"}:
        return _parse_html(body, page_url)
    raise IndexUnavailableError(f"{page_url} answered with {kind or 'no content type'}, not an index page")


def _parse_json(body: bytes, page_url: str) -> tuple[IndexFile, ...]:
    try:
        entries = json.loads(body)["files"]
        return tuple(_from_json(entry, page_url) for entry in entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IndexUnavailableError(f"{page_url} isn't an index page in JSON: {error!r}") from error


def _from_json(entry: Mapping[str, Any], page_url: str) -> IndexFile:
    promise = entry.get("core-metadata", entry.get("dist-info-metadata"))
    size = entry.get("size")
    return IndexFile(
        filename=str(entry["filename"]),
        url=_absolute(page_url, str(entry["url"])),
        sha256=_sha256_of(entry.get("hashes", {}).get("sha256")),
        uploaded=parse_time(entry.get("upload-time")),
        requires_python=entry.get("requires-python") or None,
        yanked=entry.get("yanked", False),
        size_bytes=size if isinstance(size, int) and size >= 0 else None,
        metadata=_promise(promise.get("sha256", "") if isinstance(promise, dict) else promise),
    )


def _absolute(page_url: str, url: str) -> str:
    """Join two addresses; a page has thousands of them, nearly all absolute already."""
    return url if url.startswith(("https://", "http://")) else urljoin(page_url, url)


def _sha256_of(value: object) -> str | None:
    text = str(value).lower()
    return text if _SHA256.fullmatch(text) else None


def _promise(value: object) -> str | None:
    if value is None or value is False or value == "false":
        return None
    return _sha256_of(str(value).removeprefix("sha256=")) or ""


def parse_time(value: object) -> datetime | None:
    """Return an ISO 8601 time (UTC where it names no zone), or None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


class _Anchors(HTMLParser):
    """Collects the links of a PEP 503 page, and its base address."""

    def __init__(self, page_url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = page_url
        self.links: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "base" and values.get("href"):
            self.base = urljoin(self.base, values["href"])
        elif tag == "a" and values.get("href"):
            self.links.append(values)


def _parse_html(body: bytes, page_url: str) -> tuple[IndexFile, ...]:
    parser = _Anchors(page_url)
    parser.feed(body.decode("utf-8", "replace"))
    parser.close()
    return tuple(_from_anchor(link, parser.base) for link in parser.links)


def _from_anchor(link: Mapping[str, str], base: str) -> IndexFile:
    url, fragment = urldefrag(urljoin(base, link["href"]))
    algorithm, _, digest = fragment.partition("=")
    promise = link.get("data-core-metadata", link.get("data-dist-info-metadata"))
    return IndexFile(
        filename=unquote(urlsplit(url).path.rsplit("/", 1)[-1]),
        url=url,
        sha256=_sha256_of(digest) if algorithm == "sha256" else None,
        uploaded=parse_time(link.get("data-upload-time")),
        requires_python=link.get("data-requires-python") or None,
        yanked=(link["data-yanked"] or True) if "data-yanked" in link else False,
        metadata=_promise(promise),
    )


def render_json(name: str, files: Iterable[IndexFile]) -> bytes:
    """Return a PEP 691 page whose file addresses are relative to `/simple/<name>/`."""
    entries = [_json_entry(f) for f in files]
    page = {"meta": {"api-version": "1.1"}, "name": name, "files": entries}
    return json.dumps(page, separators=(",", ":")).encode("ascii")


def _json_entry(file: IndexFile) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "filename": file.filename,
        "url": _address(file),
        "hashes": {"sha256": file.sha256} if file.sha256 else {},
        "requires-python": file.requires_python,
        "yanked": file.yanked,
        "core-metadata": file.is_wheel,
    }
    if file.size_bytes is not None:
        entry["size"] = file.size_bytes
    if file.uploaded is not None:
        entry["upload-time"] = file.uploaded.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return entry


def render_html(name: str, files: Iterable[IndexFile]) -> bytes:
    """Return a PEP 503 page whose file addresses are relative to `/simple/<name>/`."""
    links = "".join(f"{_anchor(f)}<br>\n" for f in files)
    title = html.escape(name)
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n{links}</body></html>\n".encode()
    )


def _anchor(file: IndexFile) -> str:
    address = _address(file) + (f"#sha256={file.sha256}" if file.sha256 else "")
    parts = [f'href="{html.escape(address)}"']
    if file.requires_python:
        parts.append(f'data-requires-python="{html.escape(file.requires_python)}"')
    if file.yanked is not False:
        parts.append(f'data-yanked="{html.escape("" if file.yanked is True else str(file.yanked))}"')
    if file.is_wheel:
        parts.append('data-core-metadata="true"')
    return f"<a {' '.join(parts)}>{html.escape(file.filename)}</a>"


def _address(file: IndexFile) -> str:
    return f"../../files/{file.token}/{quote(file.filename)}"


def normalise(name: str) -> str:
    """Return the one spelling of a distribution's name (PEP 503)."""
    return str(canonicalize_name(name))

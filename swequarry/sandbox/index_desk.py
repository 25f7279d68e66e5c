"""What the index proxy answers, without any socket: paths in, answers out.

Keeps the notes of what a view hid and the trouble that the index made.
"""

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote, urlsplit

from swequarry.errors import IndexUnavailableError, StorageError
from swequarry.records import sha256_hex
from swequarry.sandbox import index_pages as pages
from swequarry.sandbox.index_cache import IndexCache
from swequarry.sandbox.index_metadata import RangeReader, metadata_in
from swequarry.sandbox.index_pages import IndexFile, IndexView
from swequarry.sandbox.index_upstream import Upstream

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_PAGE_MAX_AGE_S = 3600.0
_DATE_MAX_AGE_S = 30 * 86400.0
_DOWNLOAD_BUDGET_BYTES = 16 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class IndexNote:
    """What the proxy did to a distribution: `kind` is one of the four below; `detail` says more.

    `denied`: the project's own. `undated`: files hidden because the index gives them no date at all.
    `last-modified`: dated by when they last changed on the index, which is never earlier than their upload.
    `all-newer`: everything is newer than the cut-off; `detail` is the time of the earliest upload.
    """

    kind: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer; the body is bytes or a file."""

    status: HTTPStatus
    content_type: str = "text/plain"
    body: bytes | Path = b""


_NOT_FOUND = Answer(status=HTTPStatus.NOT_FOUND)


class IndexDesk:
    """Answers for one build, whose steps ask for the same pages again. Safe to call from several threads."""

    def __init__(self, upstream: Upstream, cache: IndexCache, view: IndexView) -> None:
        self._upstream = upstream
        self._cache = cache
        self._view = view
        self._files: dict[tuple[str, str], IndexFile] = {}
        self._pages: dict[tuple[str, str], Answer] = {}
        self._notes: set[IndexNote] = set()
        self._trouble: list[str] = []
        self._left_bytes = _DOWNLOAD_BUDGET_BYTES
        self._guard = threading.Lock()

    @property
    def notes(self) -> tuple[IndexNote, ...]:
        """What was hidden or couldn't be dated, sorted."""
        with self._guard:
            return tuple(sorted(self._notes))

    @property
    def trouble(self) -> tuple[str, ...]:
        """What the index failed to give."""
        with self._guard:
            return tuple(self._trouble)

    def deny(self, name: str) -> None:
        """Hide one more distribution from now on."""
        with self._guard:
            self._view = replace(self._view, denied=self._view.denied | {pages.normalise(name)})
            self._files = {k: f for k, f in self._files.items() if not _belongs_to(f, name)}

    def files(self, name: str) -> tuple[IndexFile, ...]:
        """Return every file of a distribution (normalised name); none where the index doesn't know it.

        Raises:
            IndexUnavailableError: the index failed.
        """
        return self._fetch_page(name) or ()

    def download(self, file: IndexFile) -> Path | None:
        """Return the cached copy of a file that the index gives a hash for, fetched now if need be.

        Raises:
            IndexUnavailableError: the index failed.
        """
        return None if file.sha256 is None else self._download(file, file.sha256)

    def close(self) -> None:
        """Close the connections to the index."""
        self._upstream.close()

    def answer(self, path: str, accept: str) -> Answer:
        """Answer a request; trouble with the index is noted and answered with 502."""
        try:
            return self._route(path, accept)
        except (IndexUnavailableError, StorageError) as error:
            with self._guard:
                self._trouble.append(str(error))
            return Answer(status=HTTPStatus.BAD_GATEWAY, body=str(error).encode())

    def _route(self, path: str, accept: str) -> Answer:
        parts = [unquote(part) for part in urlsplit(path).path.split("/")] if path.startswith("/") else []
        match parts:
            case ["", "simple", name, ""] | ["", "simple", name] if _NAME.match(name):
                return self._page(pages.normalise(name), accept)
            case ["", "files", token, filename]:
                return self._file(token, filename)
            case _:
                return _NOT_FOUND

    # --- pages ---------------------------------------------------------------------------------------

    def _page(self, name: str, accept: str) -> Answer:
        if name in self._view.denied:
            self._note("denied", name)
            return _NOT_FOUND
        kind = pages.JSON_TYPE if pages.JSON_TYPE in accept else pages.HTML_TYPE
        known = self._pages.get((name, kind))
        if known is not None:
            return known
        files = self._shown(name)
        if files is None:
            return _NOT_FOUND
        render = pages.render_json if kind == pages.JSON_TYPE else pages.render_html
        page = _ok(kind, render(name, files))
        with self._guard:
            self._pages[name, kind] = page
        return page

    def _shown(self, name: str) -> tuple[IndexFile, ...] | None:
        page = self._fetch_page(name)
        if page is None:
            return None
        selection = pages.select(self._dated(page, name), name, self._view)
        if selection.undated:
            self._note("undated", name, f"{len(selection.undated)} files")
        if selection.earliest is not None:
            self._note("all-newer", name, selection.earliest.isoformat())
        with self._guard:
            self._files.update({(file.token, file.filename): file for file in selection.shown})
        return selection.shown

    def _fetch_page(self, name: str) -> tuple[IndexFile, ...] | None:
        url = self._upstream.page_url(name)
        with self._cache.lock(url):
            stored = self._cache.page(url, now=time.time(), max_age_s=_PAGE_MAX_AGE_S)
            if stored is not None:
                kind, body = stored
                return pages.parse_page(body, kind, url) if kind else None
            page = self._upstream.page(name)
            files = None if page is None else pages.parse_page(page.body, page.content_type, page.url)
            moved = page is not None and page.url != url
            if not moved:
                kind, body = ("", b"") if page is None else (page.content_type, page.body)
                self._cache.add_page(url, kind, body, now=time.time())
            return files

    def _dated(self, files: tuple[IndexFile, ...], name: str) -> tuple[IndexFile, ...]:
        if self._view.cutoff is None or all(file.uploaded for file in files):
            return files
        with ThreadPoolExecutor(max_workers=8) as pool:
            dated = tuple(pool.map(self._date_of, files))
        if any(new.uploaded and not old.uploaded for old, new in zip(files, dated, strict=True)):
            self._note("last-modified", name)
        return dated

    def _date_of(self, file: IndexFile) -> IndexFile:
        if file.uploaded is not None:
            return file
        key = f"last-modified:{file.url}"
        stored = self._cache.page(key, now=time.time(), max_age_s=_DATE_MAX_AGE_S)
        if stored is None:
            moment = self._upstream.last_modified(file.url)
            stored = ("date", moment.isoformat().encode() if moment else b"")
            self._cache.add_page(key, *stored, now=time.time())
        return replace(file, uploaded=pages.parse_time(stored[1].decode()))

    # --- files ---------------------------------------------------------------------------------------

    def _file(self, token: str, filename: str) -> Answer:
        name = filename.removesuffix(".metadata")
        with self._guard:
            file = self._files.get((token, filename)) or self._files.get((token, name))
        if file is None:
            return _NOT_FOUND
        if file.filename == filename:
            return self._whole(file)
        content = self._metadata(file)
        return _NOT_FOUND if content is None else _ok("application/octet-stream", content)

    def _whole(self, file: IndexFile) -> Answer:
        if file.sha256 is None:
            chunks = self._upstream.chunks(file.url)
            body = None if chunks is None else b"".join(self._budgeted(chunks))
            return _NOT_FOUND if body is None else _ok("application/octet-stream", body)
        path = self._download(file, file.sha256)
        return _NOT_FOUND if path is None else _ok("application/octet-stream", path)

    def _download(self, file: IndexFile, sha256: str) -> Path | None:
        with self._cache.lock(sha256):
            path = self._cache.file(sha256)
            if path is not None:
                return path
            try:
                return self._fetch_file(file.url, sha256)
            except IndexUnavailableError:
                return self._fetch_file(file.url, sha256)

    def _fetch_file(self, url: str, sha256: str) -> Path | None:
        chunks = self._upstream.chunks(url)
        return None if chunks is None else self._cache.add_file(sha256, self._budgeted(chunks))

    def _budgeted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            with self._guard:
                self._left_bytes -= len(chunk)
                left = self._left_bytes
            if left < 0:
                raise IndexUnavailableError("one build asked the index for more than 16 GiB")
            yield chunk

    def _metadata(self, file: IndexFile) -> bytes | None:
        if not file.is_wheel:
            return None
        with self._cache.lock(f"metadata:{file.token}"):
            stored = self._cache.metadata(file.token)
            if stored is not None:
                return stored
            content = self._find_metadata(file)
            if content is not None:
                self._cache.add_metadata(file.token, content)
            return content

    def _find_metadata(self, file: IndexFile) -> bytes | None:
        try:
            if file.sha256 and (path := self._cache.file(file.sha256)):
                return metadata_in(path)
            return self._promised(file) or self._metadata_by_range(file) or self._metadata_of_whole(file)
        except ValueError:
            return None

    def _promised(self, file: IndexFile) -> bytes | None:
        if file.metadata is None:
            return None
        content = self._upstream.small_file(file.url + ".metadata")
        if content is not None and file.metadata and sha256_hex(content) != file.metadata:
            raise IndexUnavailableError(f"the metadata of {file.filename} is damaged")
        return content

    def _metadata_by_range(self, file: IndexFile) -> bytes | None:
        size = file.size_bytes or self._upstream.size(file.url)
        first = self._upstream.read_range(file.url, size - 1, size) if size else None
        if not size or first is None:
            return None

        def read_range(start: int, stop: int) -> bytes:
            return self._upstream.read_range(file.url, start, stop) or b""

        return metadata_in(RangeReader(size, read_range))

    def _metadata_of_whole(self, file: IndexFile) -> bytes | None:
        path = self._download(file, file.sha256) if file.sha256 else None
        return None if path is None else metadata_in(path)

    def _note(self, kind: str, name: str, detail: str = "") -> None:
        with self._guard:
            self._notes.add(IndexNote(kind=kind, name=name, detail=detail))


def _belongs_to(file: IndexFile, name: str) -> bool:
    """Whether a file may be of a distribution, going by how its name starts."""
    return pages.normalise(file.filename).startswith(pages.normalise(name) + "-")


def _ok(content_type: str, body: bytes | Path) -> Answer:
    return Answer(status=HTTPStatus.OK, content_type=content_type, body=body)

"""The index proxy: the single way out of a build, and it leads to one package index as of one day.

One proxy serves one build, on a unix socket. It answers GET and HEAD of `/simple/<name>/` and of the files
that such pages named, and nothing else: it is no open proxy. What the view hides doesn't exist for whoever
asks, installer or set-up code: files newer than the cut-off and the project's own distribution. Downloads
are kept on the host by hash and shared by all builds; foreign code can't write there.
"""

import contextlib
import socketserver
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from swequarry.sandbox.index_cache import IndexCache
from swequarry.sandbox.index_desk import IndexDesk, IndexNote
from swequarry.sandbox.index_http import IndexRequestHandler
from swequarry.sandbox.index_pages import IndexView
from swequarry.sandbox.index_upstream import Upstream

_SOCKET_PATH_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSource:
    """Which index builds use, and where its files are kept; shared by all builds of a run.

    `index_url` and `ca_bundle` default to what the installers of this machine use.
    """

    cache: Path
    index_url: str | None = None
    ca_bundle: Path | None = None
    retries: int = 4

    def open(self, view: IndexView) -> "IndexProxy":
        """Return the proxy of one build."""
        return IndexProxy(self, view)

    @contextlib.contextmanager
    def releases(self) -> Iterator[IndexDesk]:
        """Open the index for looking into releases on the host, where no foreign code runs."""
        desk = IndexDesk(self.upstream(), IndexCache(self.cache), IndexView())
        try:
            yield desk
        finally:
            desk.close()

    def upstream(self) -> Upstream:
        """Return a client of the index."""
        return Upstream(self.index_url, self.ca_bundle, retries=self.retries)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, path: str, desk: IndexDesk) -> None:
        self.desk = desk
        super().__init__(path, IndexRequestHandler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: a client that hangs up is no news, and no print belongs here."""


@dataclass(slots=True)
class IndexProxy:
    """The proxy of one build. A context manager: it serves from entering to leaving.

    `notes` says what it hid or couldn't date, `trouble` what the index failed to give: a build that failed
    while there was trouble says nothing about its project.
    """

    source: IndexSource
    view: IndexView
    socket: Path = field(init=False)
    _desk: IndexDesk = field(init=False)
    _cleanup: contextlib.ExitStack = field(init=False, default_factory=contextlib.ExitStack)

    def __post_init__(self) -> None:
        self._desk = IndexDesk(self.source.upstream(), IndexCache(self.source.cache), self.view)

    def __enter__(self) -> Self:
        folder = self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="swequarry-index-"))
        if len(folder) > _SOCKET_PATH_LIMIT:
            folder = self._cleanup.enter_context(
                tempfile.TemporaryDirectory(prefix="swequarry-index-", dir="/tmp")
            )
        self.socket = Path(folder) / "index.sock"
        server = _Server(str(self.socket), self._desk)
        Path(folder).chmod(0o711)
        self.socket.chmod(0o666)
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="index-proxy", daemon=True
        )
        thread.start()
        self._cleanup.callback(self._desk.close)
        self._cleanup.callback(server.server_close)
        self._cleanup.callback(server.shutdown)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def deny(self, name: str) -> None:
        """Hide one more distribution from now on: a project's name may turn out during its build."""
        self._desk.deny(name)

    @property
    def notes(self) -> tuple[IndexNote, ...]:
        """What the proxy hid, dated by another source or couldn't date, sorted."""
        return self._desk.notes

    @property
    def trouble(self) -> tuple[str, ...]:
        """What the index failed to give, as messages; empty where all was well."""
        return self._desk.trouble

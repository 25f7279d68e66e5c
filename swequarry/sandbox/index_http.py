"""The HTTP face of the index proxy: GET and HEAD of paths; anything else is refused."""

import shutil
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from swequarry.sandbox.index_desk import Answer


class IndexRequestHandler(BaseHTTPRequestHandler):
    """Answers one connection from the desk of its server; writes no log."""

    protocol_version = "HTTP/1.1"
    server_version = "swequarry-index"
    sys_version = ""
    timeout = 120

    def do_GET(self) -> None:
        """Answer with the body."""
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self._reply(with_body=False)

    def _refuse(self) -> None:
        self.close_connection = True
        self._send(Answer(status=HTTPStatus.METHOD_NOT_ALLOWED), with_body=True)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_CONNECT = do_TRACE = _refuse  # noqa: N815

    def _reply(self, *, with_body: bool) -> None:
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            self._send(Answer(status=HTTPStatus.BAD_REQUEST), with_body=with_body)
            return
        desk = self.server.desk  # type: ignore[attr-defined]
        self._send(desk.answer(self.path, self.headers.get("Accept", "")), with_body=with_body)

    def _send(self, answer: Answer, *, with_body: bool) -> None:
        body = answer.body
        size = body.stat().st_size if isinstance(body, Path) else len(body)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(size))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if not with_body:
            return
        if isinstance(body, Path):
            with body.open("rb") as stream:
                shutil.copyfileobj(stream, self.wfile, 1 << 20)
        else:
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing: what matters is in the notes of the desk."""

"""A server that speaks OpenAI's protocol over real HTTP and answers what a script says, good or bad."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NOW = {"retry-after-ms": "1"}
"""Asks the client to try again at once."""


@dataclass(frozen=True)
class Reply:
    """One response. `hang`: nothing is sent until the server stops; `promise` claims a longer body."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    promise: int = 0


def completion(text: str | None, *, finish: str = "stop", usage: bool = True, **message: Any) -> Reply:
    """Return a chat completion as a good server sends it."""
    data: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish,
            }
        ],
    }
    if usage:
        data["usage"] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return Reply(json.dumps(data).encode(), headers={"content-type": "application/json"})


def fenced(code: str) -> str:
    """Return code as a well-behaved model gives it."""
    return f"```python\n{code.strip()}\n```"


def error(status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    """Return an error as OpenAI's server words it."""
    body = json.dumps({"error": {"message": message, "type": "x", "code": None}}).encode()
    return Reply(body, status, {"content-type": "application/json", **(headers or {})})


Script = Callable[[dict[str, Any]], Reply]


@dataclass
class ScriptedModel:
    """A running server: its address, and the requests that it got (body and headers)."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@contextmanager
def scripted(*replies: Reply | Script) -> Iterator[ScriptedModel]:
    """Serve some replies one after the other, the last one again and again; a function sees the request."""
    waiting, stopping, lock = list(replies), threading.Event(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                model.requests.append(request)
                model.headers.append({name.lower(): value for name, value in self.headers.items()})
                model.paths.append(self.path)
                reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            answer = reply if isinstance(reply, Reply) else reply(request)
            if answer.hang:
                stopping.wait(60)
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(max(answer.promise, len(answer.body))))
            self.end_headers()
            self.wfile.write(answer.body)
            if answer.promise:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        model = ScriptedModel(f"http://127.0.0.1:{server.server_address[1]}/v1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            stopping.set()
            server.shutdown()
            thread.join()

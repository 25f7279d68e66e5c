"""A package index on loopback and the distributions in it, all made by the test."""

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/vnd.pypi.simple.v1+json"


def make_wheel(
    name: str,
    version: str,
    files: Mapping[str, str] | None = None,
    *,
    requires: Sequence[str] = (),
    requires_python: str | None = None,
    entry_points: str = "",
    padding: int = 0,
) -> bytes:
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {r}\n" for r in requires)
    metadata += f"Requires-Python: {requires_python}\n" if requires_python else ""
    content = {
        **(files if files is not None else {f"{stem}.py": f"VERSION = {version!r}\n"}),
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **({f"{info}/entry_points.txt": entry_points} if entry_points else {}),
    }
    if padding:
        content[f"{stem}_padding.bin"] = "x" * padding
    record = "".join(f"{path},{_record_hash(text)},{len(text.encode())}\n" for path, text in content.items())
    content[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in content.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return buffer.getvalue()


def _record_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def make_sdist(name: str, version: str, files: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    content = {**files, "PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n"}
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in content.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            data = text.encode()
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@dataclass
class Stored:
    filename: str
    data: bytes
    uploaded: str | None
    hashed: bool = True
    served: bytes | None = None
    last_modified: str | None = None


@dataclass
class LocalIndex:
    """What the server serves; a test changes it while it runs. `status` breaks whatever contains its key."""

    html_only: bool = False
    ranges: bool = True
    metadata: bool = False
    status: dict[str, int] = field(default_factory=dict)
    raw_pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    projects: dict[str, list[Stored]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def add(self, filename: str, data: bytes, uploaded: str | None = "2020-01-01T00:00:00Z", **more) -> str:
        name = filename.rsplit("-", 4 if filename.endswith(".whl") else 1)[0].lower().replace("_", "-")
        self.projects.setdefault(name, []).append(Stored(filename, data, uploaded, **more))
        return hashlib.sha256(data).hexdigest()

    def wheel(self, name: str, version: str, uploaded: str | None = "2020-01-01T00:00:00Z", **more) -> str:
        stem = name.replace("-", "_")
        return self.add(f"{stem}-{version}-py3-none-any.whl", make_wheel(name, version, **more), uploaded)

    def asked(self, text: str) -> int:
        return sum(text in path for _, path in self.requests)

    def page(self, name: str, *, as_json: bool) -> tuple[str, bytes]:
        files = self.projects[name]
        if as_json:
            entries = [
                {
                    "filename": f.filename,
                    "url": f"../../packages/{f.filename}",
                    "hashes": {"sha256": hashlib.sha256(f.data).hexdigest()} if f.hashed else {},
                    "requires-python": None,
                    "size": len(f.data),
                    "core-metadata": self.metadata and f.filename.endswith(".whl"),
                    **({"upload-time": f.uploaded} if f.uploaded else {}),
                }
                for f in files
            ]
            page = {"meta": {"api-version": "1.1"}, "name": name, "files": entries}
            return JSON, json.dumps(page).encode()
        links = "".join(
            f'<a href="/packages/{f.filename}#sha256={hashlib.sha256(f.data).hexdigest()}">{f.filename}</a>'
            for f in files
        )
        return "text/html", f"<html><body>{links}</body></html>".encode()

    def find(self, filename: str) -> Stored | None:
        return next((f for files in self.projects.values() for f in files if f.filename == filename), None)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        index: LocalIndex = self.server.index
        index.requests.append((self.command, self.path))
        index.headers.append(dict(self.headers))
        broken = next((code for text, code in index.status.items() if text in self.path), None)
        if broken is not None:
            self._reply(broken, b"trouble")
            return
        parts = self.path.strip("/").split("/")
        if parts[0] == "simple" and parts[1] in index.raw_pages:
            kind, body = index.raw_pages[parts[1]]
            self._reply(200, body, {"Content-Type": kind})
        elif parts[0] == "simple" and parts[1] in index.projects:
            wants_json = JSON in self.headers.get("Accept", "") and not index.html_only
            kind, body = index.page(parts[1], as_json=wants_json)
            self._reply(200, body, {"Content-Type": kind})
        elif parts[0] == "packages":
            self._package(index, parts[1])
        else:
            self._reply(404, b"")

    do_HEAD = do_GET  # noqa: N815

    def _package(self, index: LocalIndex, filename: str) -> None:
        if index.metadata and filename.endswith(".metadata"):
            stored = index.find(filename.removesuffix(".metadata"))
            with zipfile.ZipFile(io.BytesIO(stored.data)) as archive:
                name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
                self._reply(200, archive.read(name))
            return
        stored = index.find(filename)
        if stored is None:
            self._reply(404, b"")
            return
        data = stored.data if stored.served is None else stored.served
        headers = {"Last-Modified": stored.last_modified} if stored.last_modified else {}
        wanted = self.headers.get("Range", "")
        if wanted and index.ranges:
            start, stop = wanted.removeprefix("bytes=").split("-")
            self._reply(206, data[int(start) : int(stop) + 1], headers)
        else:
            self._reply(200, data, headers)

    def _reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def serve(index: LocalIndex) -> Iterator[LocalIndex]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.index = index
    index.url = f"http://127.0.0.1:{server.server_address[1]}/simple/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()

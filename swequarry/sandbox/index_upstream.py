"""The package index as this machine reaches it: address, certificates, proxies, retries.

Nothing here knows a registry by name: where the settings name none, the index is the one that the
installers of this machine would use.
"""

import os
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import urllib3
from urllib3.exceptions import HTTPError
from urllib3.util import Retry, Timeout, make_headers

from swequarry.errors import ConfigError, IndexUnavailableError
from swequarry.sandbox.index_pages import HTML_TYPE, JSON_TYPE

_ACCEPT = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, {HTML_TYPE};q=0.1"
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT")
_CHUNK = 1 << 18
_ABSENT = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


def default_index_url(environ: Mapping[str, str]) -> str:
    """Return the index that installers on this machine use: environment, pip's settings, pip's default."""
    for name in _INDEX_VARIABLES:
        if environ.get(name):
            return environ[name]
    from pip._internal.configuration import Configuration  # noqa: PLC0415 - slow to import, seldom needed
    from pip._internal.exceptions import PipError  # noqa: PLC0415
    from pip._internal.models.index import PyPI  # noqa: PLC0415

    configuration = Configuration(isolated=False)
    try:
        configuration.load()
        return str(configuration.get_value("global.index-url"))
    except PipError:
        return str(PyPI.simple_url)


def default_ca_bundle(environ: Mapping[str, str]) -> Path | None:
    """Return the first certificate bundle that the environment names and that exists."""
    paths = (Path(environ[name]) for name in _CA_VARIABLES if environ.get(name))
    return next((path for path in paths if path.is_file()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A project page as it came."""

    url: str
    content_type: str
    body: bytes


class Upstream:
    """HTTP client of one index.

    Every method raises IndexUnavailableError where the index can't be reached, refuses (401, 403, 429) or
    breaks (5xx, cut answer) after retries; None means that the index said: not here.
    """

    def __init__(
        self,
        index_url: str | None = None,
        ca_bundle: Path | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        retries: int = 4,
    ) -> None:
        variables = os.environ if environ is None else environ
        parts = urlsplit(index_url or default_index_url(variables))
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError("environment.index_url must be the http(s) address of a simple index")
        self._host = parts.netloc.rpartition("@")[2]
        self._credentials = _credentials(parts.username, parts.password)
        path = parts.path.rstrip("/") + "/"
        self.index_url = urlunsplit((parts.scheme, self._host, path, parts.query, ""))
        self._retry = Retry(
            total=retries,
            backoff_factor=0.5,
            status_forcelist=(429, 500, 502, 503, 504),
            raise_on_status=False,
            respect_retry_after_header=False,
        )
        bundle = ca_bundle or default_ca_bundle(variables)
        self._pool = _pool(parts.scheme, parts.hostname, bundle)

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()

    def page_url(self, name: str) -> str:
        """Return the address of a project page (normalised name)."""
        parts = urlsplit(self.index_url)
        return urlunsplit(parts._replace(path=f"{parts.path}{name}/"))

    def page(self, name: str) -> Page | None:
        """Return a project page."""
        url = self.page_url(name)
        answer = self._request("GET", url, {"Accept": _ACCEPT})
        if answer is None:
            return None
        final = urljoin(url, answer.geturl() or url)
        return Page(url=final, content_type=answer.headers.get("Content-Type", ""), body=answer.data)

    def chunks(self, url: str) -> Iterator[bytes] | None:
        """Return the bytes of a file, piece by piece."""
        answer = self._request("GET", url, {"Accept-Encoding": "identity"}, preload=False)
        return None if answer is None else self._stream(answer, url)

    def _stream(self, answer: urllib3.BaseHTTPResponse, url: str) -> Iterator[bytes]:
        try:
            yield from answer.stream(_CHUNK, decode_content=False)
        except HTTPError as error:
            raise self._trouble(url, f"cut its answer: {error}") from error
        finally:
            answer.release_conn()

    def small_file(self, url: str) -> bytes | None:
        """Return the bytes of a small file."""
        answer = self._request("GET", url)
        return None if answer is None else answer.data

    def read_range(self, url: str, start: int, stop: int) -> bytes | None:
        """Return bytes `start` to `stop` of a file, or None where the index can't give ranges."""
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        answer = self._request("GET", url, headers, preload=False)
        if answer is None:
            return None
        try:
            return answer.read(stop - start) if answer.status == HTTPStatus.PARTIAL_CONTENT else None
        except HTTPError as error:
            raise self._trouble(url, f"cut its answer: {error}") from error
        finally:
            answer.close()

    def size(self, url: str) -> int | None:
        """Return the size of a file in bytes, where the index says it."""
        answer = self._request("HEAD", url, {"Accept-Encoding": "identity"})
        text = "" if answer is None else answer.headers.get("Content-Length", "")
        return int(text) if text.isdecimal() else None

    def last_modified(self, url: str) -> datetime | None:
        """Return when a file was last changed on the index: never earlier than its upload."""
        answer = self._request("HEAD", url)
        try:
            time = parsedate_to_datetime("" if answer is None else answer.headers.get("Last-Modified", ""))
        except (ValueError, TypeError):
            return None
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    def _request(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, *, preload: bool = True
    ) -> urllib3.BaseHTTPResponse | None:
        own = {"User-Agent": "swequarry", **(headers or {})}
        if urlsplit(url).netloc == self._host:
            own.update(self._credentials)
        try:
            answer = self._pool.request(
                method,
                url,
                headers=own,
                preload_content=preload,
                retries=self._retry,
                timeout=Timeout(connect=15, read=60),
            )
        except HTTPError as error:
            raise self._trouble(url, f"can't be reached: {error}") from error
        if answer.status in _ABSENT:
            answer.release_conn()
            return None
        if answer.status not in {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT}:
            answer.release_conn()
            raise self._trouble(url, f"answered {answer.status}")
        return answer

    def _trouble(self, url: str, what: str) -> IndexUnavailableError:
        place = urlsplit(url)
        return IndexUnavailableError(
            f"the package index at {place.hostname} {what} ({place.path}); "
            "check the network, or set environment.index_url and environment.ca_bundle"
        )


def _credentials(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    return make_headers(basic_auth=f"{unquote(user)}:{unquote(password or '')}")


def _pool(scheme: str, host: str, ca_bundle: Path | None) -> urllib3.PoolManager:
    bundle = str(ca_bundle) if ca_bundle else None
    proxies = urllib.request.getproxies_environment()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or urllib.request.proxy_bypass(host):
        return urllib3.PoolManager(num_pools=4, maxsize=16, ca_certs=bundle)
    if "://" not in address:
        address = f"http://{address}"
    parts = urlsplit(address)
    login = _credentials(parts.username, parts.password)
    return urllib3.ProxyManager(
        urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])),
        proxy_headers={"proxy-authorization": login["authorization"]} if login else None,
        num_pools=4,
        maxsize=16,
        ca_certs=bundle,
    )

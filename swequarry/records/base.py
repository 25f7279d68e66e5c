"""What every record has: identifiers, canonical JSON and a content hash."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, ClassVar, NewType, Self

from pydantic import ConfigDict, TypeAdapter

CommitSha = NewType("CommitSha", str)
"""40 lower-case hex digits that name a commit."""
TreeSha = NewType("TreeSha", str)
"""40 lower-case hex digits that name a git tree."""
BlobHash = NewType("BlobHash", str)
"""SHA-256 (64 hex digits) of bytes in the blob store."""
ContentHash = NewType("ContentHash", str)
"""SHA-256 (64 hex digits) of a record's canonical JSON."""
TestId = NewType("TestId", str)
"""Canonical id of one test, as the framework names it: never cut, never normalised."""


def canonical_json(value: object) -> bytes:
    """Return the one JSON text of a value: sorted keys, no blanks, ASCII only, no NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of some bytes as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(cls: type) -> TypeAdapter[Any]:
    if cls not in _ADAPTERS:
        _ADAPTERS[cls] = TypeAdapter(cls)
    return _ADAPTERS[cls]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Base of all records; gives them JSON and a content hash."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    record_version: ClassVar[int] = 1

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data with defaults left out."""
        data: dict[str, Any] = _adapter(type(self)).dump_python(self, mode="json", exclude_defaults=True)
        return data

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read what `to_json` wrote.

        Raises:
            pydantic.ValidationError: a field is unknown, missing or of the wrong type.
        """
        record: Self = _adapter(cls).validate_python(data)
        return record

    def content_hash(self) -> ContentHash:
        """Return the hash of kind, version and fields."""
        named = {"kind": type(self).__name__, "version": self.record_version, "fields": self.to_json()}
        return ContentHash(sha256_hex(canonical_json(named)))

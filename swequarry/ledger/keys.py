"""The key of a memoised result, and the outcomes that are stored under it, as JSON and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from swequarry.outcome import Accepted, Boundary, Failed, RejectCode, Rejected
from swequarry.records import ContentHash, canonical_json, sha256_hex


@dataclass(frozen=True, slots=True, kw_only=True)
class StageKey:
    """What a result depends on: the stage, its version, its input and the settings that it declares.

    Workers, paths and times are never part of it.
    """

    stage: str
    version: int
    input_hash: ContentHash
    settings_hash: ContentHash

    def digest(self) -> ContentHash:
        """Return the one id of this key."""
        parts = [self.stage, self.version, self.input_hash, self.settings_hash]
        return ContentHash(sha256_hex(canonical_json(parts)))


StoredValue: TypeAlias = Accepted[dict[str, Any]] | Rejected | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOutcome:
    """How one item ended at a stage; an accepted value is a record's `to_json()`."""

    item: str
    outcome: StoredValue


def outcome_kind(outcome: StoredValue) -> str:
    """Return `accepted`, `rejected` or `failed`."""
    match outcome:
        case Accepted():
            return "accepted"
        case Rejected():
            return "rejected"
        case Failed():
            return "failed"


def outcome_code(outcome: StoredValue) -> str:
    """Return the reject code or the boundary, "" for an accepted item."""
    match outcome:
        case Accepted():
            return ""
        case Rejected(code=code):
            return code.value
        case Failed(boundary=boundary):
            return boundary.value


def outcome_to_json(outcome: StoredValue) -> dict[str, Any]:
    """Return plain JSON data of an outcome."""
    match outcome:
        case Accepted(value=value):
            return {"kind": "accepted", "value": value}
        case Rejected(code=code, message=message, evidence=evidence):
            return {"kind": "rejected", "code": code.value, "message": message, "evidence": list(evidence)}
        case Failed(boundary=boundary, message=message, retryable=retryable, evidence=evidence):
            return {
                "kind": "failed",
                "boundary": boundary.value,
                "message": message,
                "retryable": retryable,
                "evidence": list(evidence),
            }


def outcome_from_json(data: dict[str, Any]) -> StoredValue:
    """Read what `outcome_to_json` wrote.

    Raises:
        ValueError: the kind, code or boundary is unknown (the ledger was written by something newer).
    """
    match data["kind"]:
        case "accepted":
            return Accepted(value=data["value"])
        case "rejected":
            return Rejected(
                code=RejectCode(data["code"]), message=data["message"], evidence=tuple(data["evidence"])
            )
        case "failed":
            return Failed(
                boundary=Boundary(data["boundary"]),
                message=data["message"],
                retryable=data["retryable"],
                evidence=tuple(data["evidence"]),
            )
        case kind:
            raise ValueError(f"unknown kind of outcome {kind!r}")


def first_failure(outcomes: Sequence[StoredOutcome]) -> Failed | None:
    """Return the first failure among some outcomes, a retryable one before a final one."""
    failures = [stored.outcome for stored in outcomes if isinstance(stored.outcome, Failed)]
    return next((failed for failed in failures if failed.retryable), failures[0] if failures else None)

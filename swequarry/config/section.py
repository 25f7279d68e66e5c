"""The base of all sections, and the kinds of words that several of them hold."""

from datetime import UTC, datetime
from typing import Annotated

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from swequarry.records import ContentHash, canonical_json, sha256_hex


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _quoted(value: object) -> object:
    """Refuse a Python version that YAML has read as a number: 3.10 without quotes is 3.1."""
    if isinstance(value, float):
        raise ValueError(f"is the number {value}; write a Python version in quotes, for instance '3.9'")  # noqa: TRY004
    return value


def _from_the_index(text: str) -> str:
    """Refuse what isn't a requirement that the dated index can answer."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is no requirement such as `attrs>=19`: {error}") from error
    if requirement.url is not None:
        raise ValueError(f"{text!r} names an address; builds reach nothing but the dated package index")
    return text


def _a_full_name(pattern: str) -> str:
    if pattern.count("/") != 1 or not all(pattern.split("/")):
        raise ValueError(f"{pattern!r} is neither `owner/name` nor a pattern such as `owner/*`")
    return pattern


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
Python = Annotated[str, BeforeValidator(_quoted), Field(pattern=r"^3\.\d+(\.\d+)?$")]
RequirementText = Annotated[str, AfterValidator(_from_the_index)]
RepositoryPattern = Annotated[str, AfterValidator(_a_full_name)]


def meaning_of(*sections: Section | str | int) -> ContentHash:
    """Return the hash of the settings that a stage declares as part of its key."""
    data = [
        s.model_dump(mode="json", exclude_defaults=True) if isinstance(s, Section) else s for s in sections
    ]
    return ContentHash(sha256_hex(canonical_json(data)))

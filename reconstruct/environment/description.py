"""What an environment holds, as its own Python tells."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from reconstruct.environment.build_session import BuildCause, BuildSession
from swequarry.sandbox.contract import TESTBED


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What `inside/describe.py` reports; the code of installed packages can reach it, so it is validated."""

    python: str
    sys_version: str
    installed: tuple[tuple[str, str], ...]
    project_version: str | None
    origins: Mapping[str, str]
    copies: tuple[str, ...]
    site_packages: tuple[str, ...]


def describe(session: BuildSession) -> Description:
    """Return the description.

    Raises:
        BuildStoppedError: the environment's Python can't tell.
    """
    answer = session.script("describe", "describe.py", TESTBED, session.project_name or "")
    try:
        return TypeAdapter(Description).validate_python(answer)
    except ValidationError as error:
        raise session.stop(BuildCause.INSTALL, "describe", "the environment's description is odd") from error

"""Names of images: templates filled with what a task is, checked before any engine sees them."""

import re

from swequarry.errors import UsageError
from swequarry.records import Candidate, ContentHash

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]+)?/)?"
_NAME = re.compile(rf"{_HOST}{_COMPONENT}(?:/{_COMPONENT})*:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}")
"""The grammar of image references (distribution/reference): host, path in lower case, tag."""


def image_name(template: str, candidate: Candidate, environment: ContentHash) -> str:
    """Return the name of a task's image: the template filled, in lower case, with a tag.

    `{swebench_id}` is the id with `__` as `_1776_`, as the harness of SWE-bench names its images.

    Raises:
        UsageError: the template has an unknown field, or gives no name of an image.
    """
    fields = {
        "instance_id": candidate.instance_id.lower(),
        "swebench_id": candidate.instance_id.lower().replace("__", "_1776_"),
        "owner": candidate.repo.owner.lower(),
        "name": candidate.repo.name.lower(),
        "number": "" if candidate.pull_number is None else str(candidate.pull_number),
        "environment": environment[:24],
    }
    try:
        filled = template.format_map(fields)
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        known = ", ".join(f"{{{name}}}" for name in fields)
        raise UsageError(f"template {template!r} can't be filled ({error}); it may have {known}") from error
    return _checked(filled if ":" in filled.rpartition("/")[2] else f"{filled}:latest")


def remote_name(registry: str, local: str) -> str:
    """Return the name of a local image in a registry, `HOST[:PORT][/PREFIX]`.

    Raises:
        UsageError: that is no name of an image.
    """
    return _checked(f"{registry.rstrip('/').removeprefix('https://').removeprefix('http://')}/{local}")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of an image: parts in lower case, joined by `/`, then `:tag`")
    return name

"""Reads which image each task was verified in, from what `swequarry images build|push --json` print."""

import json
from collections.abc import Mapping
from pathlib import Path

from swequarry.errors import InputError
from swequarry.export.interface import ImageReference


def read_images(path: Path) -> Mapping[str, ImageReference]:
    """Return images by instance id: pushed ones under their digest, others under their local tag.

    Raises:
        InputError: the file isn't such a list, or names a task twice.
    """
    try:
        entries = json.loads(path.read_bytes())
        found: dict[str, ImageReference] = {}
        for entry in entries:
            name = str(entry.get("tag") or entry["image"])
            _, at, digest = name.partition("@")
            if entry["instance_id"] in found:
                raise InputError(f"{path}: {entry['instance_id']} is there twice; name one image for a task")
            found[entry["instance_id"]] = ImageReference(name=name, digest=digest if at else None)
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} isn't the output of `images build --json` or `images push --json`"
        ) from error
    return found

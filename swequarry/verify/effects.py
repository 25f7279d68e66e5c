"""What test files do beside calling the code under test, as a run of them noted it."""

import base64
import json
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from swequarry.verify.payload import Tap
from swequarry.verify.runner import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Pairs of a kind (`network`, `process`, `reads_source`, `touches_files`) and what it was about.

    Without `audited` the interpreter is too old to see everything.
    """

    seen: tuple[tuple[str, str], ...]
    audited: bool


def watching_tap(targets: Sequence[str]) -> tuple[Tap, str]:
    """Return what to send into a run so that it notes what some test files do, and its mark."""
    mark = f"swequarry-effects-{secrets.token_hex(8)}:"
    settings = json.dumps({"mark": mark, "targets": list(targets)})
    return Tap(source="effects.py", wrap="watching", settings=settings), mark


def read_effects(run: RunResult, mark: str) -> Effects | None:
    """Return what a run noted, None where it came to no end: then nothing is known of what it did."""
    told = [line for line in run.output.split(b"\n") if line.startswith(mark.encode("ascii"))]
    if len(told) != run.passes or not told:
        return None
    notes = [json.loads(zlib.decompress(base64.b64decode(line[len(mark) :]))) for line in told]
    seen = {(str(kind), str(what)): None for note in notes for kind, what in note["seen"]}
    return Effects(seen=tuple(seen), audited=all(note["audited"] for note in notes))

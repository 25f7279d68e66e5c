"""Which tests of a run waited for a processor: what they did then says little about what they always do."""

import json

from swequarry.records import TestId
from swequarry.verify.payload import Tap
from swequarry.verify.runner import RunResult

SHARE = 0.25
"""From this share of its time on a test that waited is taken to have been slowed down."""
_MARK = "swequarry-waits:"
WAITING = Tap(source="waits.py", wrap="waiting", settings=json.dumps({"mark": _MARK, "share": SHARE}))
"""What to send into a run so that it notes which tests waited."""


def read_waits(run: RunResult) -> frozenset[TestId]:
    """Return the tests that waited; those of processes that came to no end aren't in it."""
    start = _MARK.encode("ascii")
    found: set[TestId] = set()
    for line in run.output.split(b"\n"):
        if line.startswith(start):
            try:
                found.update(TestId(str(test)) for test in json.loads(line[len(start) :]))
            except (ValueError, TypeError):  # a test wrote a line like ours: nobody is judged by it
                continue
    return frozenset(found)

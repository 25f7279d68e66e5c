"""The decisive lines of a log: those that a person would quote as the reason."""

import re

_DECISIVE = re.compile(
    r"No solution found|[Bb]ecause |Failed to |was not found|no version|error:|Error|ERROR|\bfatal:|"
    r"[Nn]o such file|not satisf|has no attribute|can't |cannot |ended by|newer than the cut-off|is invalid|"
    r"No module named|hides the tree|imported from|nearest tag|[Cc]onflict"
)
_LIMIT = 12
_WIDTH = 400


def decisive_lines(log: bytes) -> tuple[str, ...]:
    """Return the last 12 (or fewer) different lines of a log that name a cause, oldest first."""
    lines: dict[str, None] = {}
    for line in log[-200_000:].decode("utf-8", "replace").splitlines():
        text = line.strip()[:_WIDTH]
        if _DECISIVE.search(text):
            lines.pop(text, None)
            lines[text] = None
    return tuple(lines)[-_LIMIT:]

"""The added lines round an added line."""

from collections.abc import Sequence

from patchreview.pieces import CodeLine


def nearby(lines: Sequence[CodeLine], place: int, reach: int) -> list[CodeLine]:
    """Return the lines fewer than `reach` rows from the one at `place`, itself too; `lines` are in order.

    Only neighbours in the list are looked at, so that a patch of many lines costs no more than a pass.
    """
    number = lines[place].number
    window = lines[max(0, place - reach + 1) : place + reach]
    return [line for line in window if abs(line.number - number) < reach]

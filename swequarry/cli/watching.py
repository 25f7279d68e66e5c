"""`status --watch`: the counts of the newest run, again and again, from wherever its ledger is reached."""

import time
from collections import Counter
from dataclasses import asdict

from swequarry.cli.console import print_json, print_lines
from swequarry.errors import InputError
from swequarry.ledger.ledger import Ledger
from swequarry.ledger.tallies import RECENT_S, Tally, tally

_REASONS = 5


def show_counts(ledger: Ledger, *, every_s: float | None, as_json: bool) -> None:
    """Print the counts of the newest run once, or until it has ended.

    Raises:
        InputError: the ledger holds no run.
        StorageError: the ledger can't be read.
    """
    last: Tally | None = None
    while True:
        now = tally(ledger)
        if now is None:
            raise InputError(
                f"{ledger.database.label} holds no run yet; start one with `swequarry run CONFIG`"
            )
        if now != last:
            print_json(_plain(now)) if as_json else print_lines(_lines(now))
        if every_s is None or now.ended_at is not None:
            return
        last = now
        time.sleep(every_s)


def _plain(now: Tally) -> dict[str, object]:
    ends = [
        {"stage": s, "kind": k, "code": c, "count": count} for (s, k, c), count in sorted(now.ends.items())
    ]
    return {**asdict(now), "ends": ends, "open": now.open}


def _lines(now: Tally) -> list[str]:
    counts = " + ".join(f"{now.of_kind(kind)} {kind}" for kind in ("accepted", "rejected", "failed"))
    reasons: Counter[str] = Counter()
    for (_, kind, code), count in now.ends.items():
        if kind != "accepted":
            reasons[code] += count
    shown = ", ".join(f"{count} {code}" for code, count in reasons.most_common(_REASONS))
    working = ", ".join(f"{count} on {host}" for host, count in sorted(now.held.items())) or "none"
    return [
        f"run {now.run}: {now.selected} candidates = {counts} + {now.open} on their way",
        f"  most frequent reasons: {shown or 'none'}",
        f"  at work: {working}; {now.recent} tries ended in the last {RECENT_S:.0f} s",
    ]

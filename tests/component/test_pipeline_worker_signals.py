"""What a run under nohup ignores, the commands of its workers don't."""

import subprocess
import sys

SHOW = "import signal; print([n for n in (1, 2, 3) if signal.getsignal(n) is signal.SIG_IGN])"
RUN = f"""
import signal, subprocess, sys
from swequarry.pipeline.worker import leave_none_ignored
for number in (1, 2, 3):
    signal.signal(number, signal.SIG_IGN)
subprocess.run([sys.executable, "-c", {SHOW!r}], check=True)
leave_none_ignored()
subprocess.run([sys.executable, "-c", {SHOW!r}], check=True)
signal.raise_signal(signal.SIGHUP)
"""


def test_ignored_signals_are_not_handed_on_and_still_do_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == ["[1, 2, 3]", "[]"]

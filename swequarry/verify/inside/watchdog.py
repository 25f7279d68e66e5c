"""A process beside the run that ends it when one test takes too long.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

A thread would be seen by tests (thread counts, the warning about forking a process with threads) and
would starve when C code holds the interpreter lock; an alarm signal belongs to the tests themselves. So it
is a process, no child of the run, in its own session. A word of shared memory tells it which test runs: an
odd number that grows with each test, an even one between tests. It looks a few times a second, so the run
pays nothing for it. When the time is over it stops the run, says so on the report channel, and kills it.
"""

import json
import mmap
import os
import select
import signal
import struct
import time

WORD = struct.Struct("=Q")


def start_watchdog(report_fd, limit_s):
    """Start the watchdog; return a function that tells it the number of what runs now."""
    board = mmap.mmap(-1, WORD.size)
    read_end, write_end = os.pipe()  # never written to: it closes when the run and its children are gone
    run = os.getpid()
    child = os.fork()
    if child == 0:
        _detach_and_watch(run, board, read_end, write_end, report_fd, limit_s)
    os.waitpid(child, 0)
    os.close(read_end)

    def tell(number, pack=WORD.pack_into):
        pack(board, 0, number)

    return tell


def _detach_and_watch(run, board, read_end, write_end, report_fd, limit_s):
    try:
        os.setsid()
        if os.fork() == 0:
            os.close(write_end)
            null = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(null, standard)
            _watch(run, board, read_end, report_fd, limit_s)
    except BaseException:
        pass
    finally:
        os._exit(0)


def _watch(run, board, read_end, report_fd, limit_s):
    seen, since = 0, time.monotonic()
    while not select.select([read_end], [], [], min(0.25, limit_s / 4))[0]:
        os.kill(run, 0)  # raises when the run is gone while a child of it still holds the pipe
        now, (number,) = time.monotonic(), WORD.unpack_from(board, 0)
        if number != seen:
            seen, since = number, now
        elif number % 2 and now - since >= limit_s:
            _end(run, report_fd, number)
            return


def _end(run, report_fd, number):
    os.kill(run, signal.SIGSTOP)
    time.sleep(0.05)
    line = json.dumps({"kind": "timeout", "number": number})
    os.write(report_fd, ("\n" + line + "\n").encode("ascii"))
    os.kill(run, signal.SIGKILL)

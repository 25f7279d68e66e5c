"""Run the tests on one processor, alone or beside processes that want it too.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring. The burners are no children
of the run, which tests may count, and end when the run and its children have.
"""
# ruff: noqa: D103

import os
import select


def loaded(settings, adapter):
    """Return an adapter that runs beside so many burners as `settings["burners"]` says."""

    def run_loaded(session, files):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        read_end, write_end = os.pipe()
        for _ in range(settings["burners"]):
            child = os.fork()
            if child == 0:
                detach_and_burn(read_end, write_end)
            os.waitpid(child, 0)
        os.close(read_end)
        return adapter(session, files)

    return run_loaded


def detach_and_burn(read_end, write_end):
    try:
        os.setsid()
        if os.fork() == 0:
            os.close(write_end)
            null = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(null, standard)
            keep = os.dup2(read_end, 3)
            os.closerange(4, 4096)
            while not select.select([keep], [], [], 0)[0]:
                sum(range(20000))
    except BaseException:
        pass
    finally:
        os._exit(0)

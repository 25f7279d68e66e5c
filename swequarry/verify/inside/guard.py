"""Make ready for a graded run: what a candidate may have left for Python or pytest to find isn't found.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring. Follows `survey.py` in the
program, whose `plugin_entries` it uses.

It works before the checkout is on sys.path: the test framework and what it is made of come from the
environment, whatever modules of such names lie in the checkout. Byte code in the checkout is deleted, because
an unchecked one hides what the source says.
"""

import importlib
import os
import sys

EARLY = ["unittest", "doctest", "pdb", "subprocess", "tempfile", "logging"]
"""What frameworks import late, if at all; what else they need comes with them."""


def drop_byte_code(testbed):
    """Delete what was compiled earlier in the checkout; links aren't followed."""
    for folder, names, files in os.walk(testbed):
        names[:] = [name for name in names if name not in (".git", "node_modules")]
        compiled = os.path.basename(folder) == "__pycache__"
        for name in files:
            beside = name.endswith(".pyc") and name[:-1] in files
            if beside or (compiled and name.endswith((".pyc", ".pyo"))):
                try:
                    os.unlink(os.path.join(folder, name))
                except OSError:
                    continue


def preload(names):
    """Import modules from the environment, before the checkout can offer others of these names."""
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:
            pass  # what this Python lacks, the checkout may well bring


def guarded(guard, adapter):
    """Return an adapter that refuses to start pytest if the checkout brings a plugin of its own."""
    testbed = os.path.realpath(os.getcwd())
    drop_byte_code(testbed)
    preload(EARLY + guard["preload"])
    known = [tuple(entry) for entry in guard["plugins"]]
    roots = [os.path.normpath(os.path.join(testbed, root)) for root in guard["roots"]]
    places = [testbed] + roots + [place for place in sys.path if place]
    strange = [entry for entry in plugin_entries(places) if tuple(entry) not in known]  # noqa: F821

    def run_guarded(session, files):
        if not strange:
            return adapter(session, files)
        told = ", ".join("%s = %s" % tuple(entry) for entry in strange)
        session.channel.send("broken", detail=session.text(guard["strange"] + told))
        return 4

    return run_guarded

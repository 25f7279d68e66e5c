"""Run the tests as another account would, or from another folder.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring. Another account means its
names, home and file mode; the user's number is the sandbox's and stays.
"""

import os
import shutil
import sys
import tempfile


def placed(settings, adapter):
    """Return an adapter that runs with another home, or in a copy of the checkout, as `settings` says."""

    def run_placed(session, files):
        if settings["user"]:
            home = tempfile.mkdtemp(prefix="home-")
            os.environ.update({"HOME": home, "USER": "other", "LOGNAME": "other"})
            os.umask(0o077)
        if settings["path"]:
            here = session.testbed
            there = os.path.join(tempfile.mkdtemp(prefix="other-"), "checkout")
            shutil.copytree(here, there, symlinks=True)
            os.chdir(there)
            session.testbed = os.path.realpath(there)
            sys.path[:] = [moved(entry, here, session.testbed) for entry in sys.path]
        return adapter(session, files)

    return run_placed


def moved(entry, here, there):
    """Return an entry of sys.path as it is below the other folder."""
    real = os.path.realpath(entry or ".")
    inside = entry and (real == here or real.startswith(here + os.sep))
    return there + real[len(here) :] if inside else entry

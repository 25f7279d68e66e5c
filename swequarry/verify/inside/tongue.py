"""Run the tests in another locale, with file names still taken for UTF-8: the test files have such names.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.
"""

import locale
import os


def spoken(settings, adapter):
    """Return an adapter that runs in the C locale, for child processes too by `settings["variables"]`."""

    def run_spoken(session, files):
        os.environ.update(settings["variables"])
        locale.setlocale(locale.LC_ALL, "C")
        return adapter(session, files)

    return run_spoken

"""Run a project's own runner script, and tell the session what unittest does inside it.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

Scripts such as `tests/runtests.py` or `manage.py test` set up what their suite needs (Django's settings,
databases, apps) and end in unittest's text runner, which `recording` takes over. They are told which files
to run by dotted names; a script that takes no names is run as it is, and its suite is cut down afterwards.
"""

import os
import re
import runpy
import sys
import traceback

TAKES_NAMES = re.compile(r"sys\.argv|argparse|optparse|\bclick\b|execute_from_command_line")


def run_script(session, files, script, recording):
    """Run the tests of some files by a script; returns only if it doesn't come to a run."""
    places = {session.import_name(path)[0]: path for path in files}
    with open(script, "rb") as stream:
        takes_names = TAKES_NAMES.search(stream.read().decode("utf-8", "replace"))
    sys.argv = [script] + session.options + (list(places) if takes_names else [])
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    recording(session, places).install()
    try:
        runpy.run_path(script, run_name="__main__")
        reason = "it ended without a run of unittest's text runner"
    except SystemExit as stop:
        reason = "it ended with status %s before a run of unittest's text runner" % session.plain(stop.code)
    except BaseException as error:
        traceback.print_exc()
        lines = session.plain(error).strip().splitlines()
        reason = "%s: %s" % (type(error).__name__, lines[0] if lines else "")
    session.channel.send("broken", detail=session.text(reason))
    return 4

"""End a run at the first test that matters and doesn't pass: one such test is all that is asked.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.
"""


def stopping(settings, adapter):
    """Return an adapter that ends the run as soon as a test of `settings["tests"]` didn't pass or is gone."""
    judged = frozenset(settings["tests"])

    def run_stopping(session, files):
        collected, phase, failed = session.collected, session.phase, []

        def tell_collected(ids):
            collected(ids)
            if judged.difference(ids):
                session.end(1)

        def tell_phase(test, when, outcome, xfail=False, detail="", error=""):  # noqa: FBT002
            phase(test, when, outcome, xfail, detail, error)
            if test in judged and (outcome != "passed" or xfail):
                failed.append(test)
            if failed and when == "teardown":
                session.end(1)

        session.collected, session.phase = tell_collected, tell_phase
        return adapter(session, files)

    return run_stopping

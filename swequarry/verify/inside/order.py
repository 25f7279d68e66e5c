"""Run the collected tests in another order: modules, classes and tests stay together, as people run them.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring. Follows the recorder of a
framework in the program, whose class it extends.
"""
# ruff: noqa: D103, F821

import random
import unittest


def arranged(items, key, turn):
    """Return items in another order: reversed in turn 0, shuffled by the number of any other turn.

    Reversing puts every two tests the other way round. `key` gives the module and class of an item.
    """
    if not turn:
        return items[::-1]
    chance, places = random.Random(turn), {}  # noqa: S311 (an order that can be had again)
    for item in items:
        module, group = key(item)
        for place in (module, (module, group), (module, group, id(item))):
            places.setdefault(place, chance.random())

    def place(item):
        module, group = key(item)
        return places[module], places[(module, group)], places[(module, group, id(item))]

    return sorted(items, key=place)


def flat(suite):
    if not isinstance(suite, unittest.BaseTestSuite):
        return [suite]
    return [test for part in suite for test in flat(part)]


def reordered(settings, adapter):
    """Return an adapter that runs the tests in the order of `settings["turn"]`."""
    turn = settings["turn"]
    if "Recorder" in globals():
        select = Recorder.pytest_collection_modifyitems

        def modify(self, session, config, items):
            select(self, session, config, items)
            items[:] = arranged(
                items, lambda item: (item.nodeid.split("::")[0], getattr(item, "cls", None)), turn
            )

        Recorder.pytest_collection_modifyitems = modify
    else:
        run = Recording.run

        def run_reordered(self, runner, suite):
            tests = arranged(flat(suite), lambda test: (type(test).__module__, type(test)), turn)
            run(self, runner, unittest.TestSuite(tests))

        Recording.run = run_reordered
    return adapter

"""Removes what a build left in the tree: byte code, copies of the project, eggs fetched by set-up code.

    python tidy.py TESTBED

Byte code of the tree would be run instead of a source that a patch changed within the same second and to
the same size. `.eggs` holds foreign distributions that no lock names; `build/lib*` and `build/bdist*` hold
the project again. Compiled extensions beside their sources stay. Standard library only, Python 3.6 on.
"""

import json
import os
import shutil
import sys


def main(testbed):
    """Walk the tree without following links; report what was removed."""
    removed = []
    for folder, names, _ in os.walk(testbed):
        if folder == testbed and ".git" in names:
            names.remove(".git")
        for name in [n for n in names if doomed(folder, n, testbed)]:
            names.remove(name)
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
            removed.append(os.path.relpath(os.path.join(folder, name), testbed))
    os.write(3, json.dumps(len(removed)).encode("ascii"))


def doomed(folder, name, testbed):
    """Return whether a folder goes."""
    if name == "__pycache__":
        return True
    if folder == testbed:
        return name == ".eggs"
    return folder == os.path.join(testbed, "build") and name.startswith(("lib", "bdist."))


if __name__ == "__main__":
    main(sys.argv[1])

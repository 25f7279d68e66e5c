"""Lists the extension modules of the checkout with their hashes, after building them again if it is told so.

The orders are a JSON object: `testbed`, and `changed`, the changed sources, null where only to list. Reported
are the `status` of the build and the `modules`. Standard library only, Python 3.6 on.
"""

import hashlib
import json
import os
import subprocess
import sys


def list_modules(orders):
    """Build and list, and report on the report channel."""
    os.chdir(orders["testbed"])
    status = 0
    if orders["changed"] is not None:
        for path in orders["changed"]:
            if os.path.isfile(path) and not os.path.islink(path):
                os.utime(path)
        status = subprocess.call(command(), stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    os.write(3, json.dumps({"status": status, "modules": modules(".")}).encode("ascii"))


def command():
    """Return the command of the project's build: its script's where it has one, else its back-end's."""
    if os.path.isfile("setup.py"):
        return [sys.executable, "setup.py", "build_ext", "--inplace", "--force"]
    install = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation"]
    return [*install, "--disable-pip-version-check", "-e", "."]


def modules(root):
    """Return the hash of every extension module below a folder by its path; links aren't followed.

    What lies in `build` at the top is a back-end's own: one that imports it from there keeps it fresh itself.
    """
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git" and not (folder == root and name == "build")]
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith(".so") and not os.path.islink(path):
                with open(path, "rb") as stream:
                    found[os.path.relpath(path, root)] = hashlib.sha256(stream.read()).hexdigest()
    return found

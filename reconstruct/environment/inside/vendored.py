"""Tells whether pip carries a copy of a distribution, as it does of those that it works with.

    python vendored.py NAME

Reports true or false. Standard library only, Python 3.6 on.
"""
# ruff: noqa: FURB188  (3.6 lacks removesuffix)

import json
import os
import re
import sys
import sysconfig


def main(name):
    """Report whether the pip of this environment vendors a distribution."""
    os.write(3, json.dumps(normalise(name) in set(vendored())).encode("ascii"))


def vendored():
    """Yield the names that pip's own list has, and the folders and modules that lie there."""
    folder = os.path.join(sysconfig.get_paths()["purelib"], "pip", "_vendor")
    if not os.path.isdir(folder):
        return
    for entry in os.listdir(folder):
        yield normalise(entry[:-3] if entry.endswith(".py") else entry)
    try:
        with open(os.path.join(folder, "vendor.txt"), encoding="utf-8") as lines:
            for line in lines:
                yield normalise(re.split(r"[=<>!~;#\s]", line.strip(), maxsplit=1)[0])
    except (OSError, UnicodeDecodeError):
        pass


def normalise(name):
    """Return a name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main(sys.argv[1])

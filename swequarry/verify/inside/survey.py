"""See what a pristine world offers: importable names, import roots in the checkout, plugins of pytest.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring.

Metadata is read by hand, because `importlib.metadata` is younger than 3.6 and what it offers as a
`pkg_resources` imports half of the environment.
"""
# ruff: noqa: D103

import io
import json
import os
import sys

METADATA = (".dist-info", ".egg-info")


def metadata_folders(place):
    """Return the folders below an entry of sys.path that may hold `entry_points.txt`, names as they are."""
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return []
    found = [os.path.join(place, name) for name in names if name.lower().endswith(METADATA)]
    eggs = [os.path.join(place, name) for name in names if name.lower().endswith(".egg")]
    return found + [os.path.join(egg, inner) for egg in eggs for inner in ("EGG-INFO", "egg-info")]


def plugin_entries(places):
    """Return [name, object] of every entry point that pytest would load by itself."""
    found = []
    for folder in [folder for place in places for folder in metadata_folders(place)]:
        try:
            with io.open(
                os.path.join(folder, "entry_points.txt"), encoding="utf-8", errors="replace"
            ) as stream:
                lines = [line.strip() for line in stream]
        except OSError:
            continue
        group = ""
        for line in lines:
            if line.startswith("["):
                group = line.strip("[]").strip()
            elif group == "pytest11" and "=" in line and not line.startswith(("#", ";")):
                name, _, value = line.partition("=")
                found.append([name.strip(), value.strip()])
    return found


def module_names(place):
    """Return the top-level names that can be imported from a folder."""
    try:
        names = os.listdir(place)
    except OSError:
        return set()
    stems = set()
    for name in names:
        stem, dot, kind = name.partition(".")
        if not stem.isidentifier():
            continue
        if not dot and os.path.isdir(os.path.join(place, name)):
            if name != "__pycache__":
                stems.add(stem)
        elif kind in ("py", "pyc") or kind.endswith(("so", "pyd")):
            stems.add(stem)
    return stems


def survey(report_fd):
    testbed = os.path.realpath(os.getcwd())
    places = [os.path.realpath(place) for place in sys.path[1:] if place]
    inside = [place for place in places if place == testbed or place.startswith(testbed + os.sep)]
    names = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
    for place in places:
        if place not in inside:
            names |= module_names(place)
    found = {
        "names": sorted(names),
        "roots": sorted({os.path.relpath(place, testbed) for place in inside}),
        "plugins": sorted(plugin_entries([testbed] + places)),  # noqa: RUF005
    }
    data = json.dumps(found).encode("ascii")
    while data:
        data = data[os.write(report_fd, data) :]

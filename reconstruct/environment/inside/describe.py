"""Says what an environment holds and where the project is imported from, as JSON on descriptor 3.

    env/bin/python -I describe.py TESTBED [PROJECT]

Runs inside the sandbox under any Python from 3.6 on; imports nothing of the project. `installed` lists
[name, version] of every distribution in site-packages or linked from there. `origins` maps each top-level
module of the tree that can be found to its place. `copies` are modules of the project's own distribution
that lie in site-packages, where they hide the tree. Standard library only.
"""

import importlib.util
import json
import os
import re
import sys
import sysconfig

NOT_MODULES = {
    "setup", "conftest", "test", "tests", "testing", "doc", "docs", "example", "examples", "build", "dist",
    "noxfile", "tasks", "fabfile", "benchmark", "benchmarks", "ci", "scripts", "tools", "versioneer",
}  # fmt: skip
SOURCE_FOLDERS = ("", "src", "lib", "python")


def normalise(name):
    """Return the one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read(path):
    """Return the text of a file, or nothing."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def header(text, field):
    """Return a field of a METADATA file."""
    match = re.search(r"^%s:[ \t]*(.*)$" % field, text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def metadata_folders(site):
    """Yield the metadata folder of each distribution; links of `setup.py develop` are followed."""
    for entry in sorted(os.listdir(site)):
        path = os.path.join(site, entry)
        if entry.endswith((".dist-info", ".egg-info")):
            yield path
        elif entry.endswith(".egg-link"):
            place = read(path).split("\n")[0].strip()
            for inner in sorted(os.listdir(place)) if os.path.isdir(place) else ():
                if inner.endswith(".egg-info") and normalise(inner[:-9]) == normalise(entry[:-9]):
                    yield os.path.join(place, inner)


def distributions(sites):
    """Return {normalised name: (name, version, metadata folder)}; the first on the path wins."""
    found = {}
    for site in sites:
        for folder in metadata_folders(site):
            text = (
                read(folder)
                if os.path.isfile(folder)
                else read(os.path.join(folder, "METADATA")) or read(os.path.join(folder, "PKG-INFO"))
            )
            name = header(text, "Name")
            if name:
                found.setdefault(normalise(name), (name, header(text, "Version"), folder))
    return found


def tree_modules(testbed, project):
    """Return the names that could be top-level modules of the project."""
    names = set()
    for folder in SOURCE_FOLDERS:
        root = os.path.join(testbed, folder)
        for entry in os.listdir(root) if os.path.isdir(root) else ():
            stem, extension = os.path.splitext(entry)
            package = os.path.isfile(os.path.join(root, entry, "__init__.py"))
            if package or (extension == ".py" and os.path.isfile(os.path.join(root, entry))):
                names.add(stem)
    guess = re.sub(r"[-.]+", "_", project)
    exact = {name for name in names if project and name.lower() == guess.lower()}
    return sorted(exact or {n for n in names if n.isidentifier() and n not in NOT_MODULES})


def place_of(name):
    """Return where a module would be imported from, without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        return None
    if spec is None:
        return None
    if spec.origin and spec.origin not in ("namespace", "built-in", "frozen"):
        return spec.origin
    return next(iter(spec.submodule_search_locations or ()), None)


def copies_of(distribution, modules):
    """Return the modules that the project's own distribution has as files in site-packages."""
    if distribution is None:
        return []
    folder = distribution[2]
    listed = read(os.path.join(folder, "RECORD")) or read(os.path.join(folder, "installed-files.txt"))
    paths = {line.split(",")[0].replace("../", "") for line in listed.splitlines()}
    return [m for m in modules if m + ".py" in paths or m + "/__init__.py" in paths]


def main(testbed, project):
    """Write the description."""
    sites = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    found = distributions([site for site in sites if os.path.isdir(site)])
    own = found.get(normalise(project)) if project else None
    modules = tree_modules(testbed, project)
    places = {name: place_of(name) for name in modules}
    answer = {
        "python": "%d.%d.%d" % sys.version_info[:3],
        "sys_version": sys.version,
        "installed": sorted([name, version] for name, version, _ in found.values()),
        "project_version": own[1] if own else None,
        "origins": {name: place for name, place in places.items() if place},
        "copies": copies_of(own, modules),
        "site_packages": sites,
    }
    os.write(3, json.dumps(answer).encode("ascii"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")

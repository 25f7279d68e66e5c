"""Imports optional distributions, each in a process of its own, and says which are dead.

    env/bin/python -I import_check.py SECONDS DISTRIBUTION ...

Writes JSON to descriptor 3: {name: {"error": last line, "blame": distribution in the deepest frame}}. An
installed package can still raise on import, and not only ImportError (a missing system library); programs
that use it if present then break. Runs inside the sandbox under any Python from 3.6 on. Standard library
only.
"""

import importlib
import json
import os
import re
import select
import signal
import sys
import sysconfig
import traceback


def normalise(name):
    """Return the one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def owners(site):
    """Return ({distribution: top-level modules}, {top-level module: distribution}) of site-packages."""
    modules, owner = {}, {}
    for entry in sorted(os.listdir(site)):
        if not entry.endswith(".dist-info"):
            continue
        name = normalise(entry[: -len(".dist-info")].rsplit("-", 1)[0])
        for top in top_level(os.path.join(site, entry)):
            modules.setdefault(name, []).append(top)
            owner.setdefault(top, name)
    return modules, owner


def top_level(folder):
    """Return the importable top-level names that a RECORD lists."""
    names = set()
    try:
        with open(os.path.join(folder, "RECORD"), encoding="utf-8", errors="replace") as stream:
            paths = [line.rsplit(",", 2)[0].strip('"') for line in stream]
    except OSError:
        return []
    for path in paths:
        head, _, rest = path.partition("/")
        if rest == "__init__.py":
            names.add(head)
        elif not rest and head.endswith((".py", ".so")):
            names.add(head.split(".")[0])
    return sorted(n for n in names if n.isidentifier() and not n.startswith("_"))


def chosen(name, modules):
    """Return the modules to import: the one called like its distribution, else all."""
    alike = [m for m in modules if normalise(m) == name or normalise(m) == name.replace("-", "")]
    return alike or modules


def blame(error, site, owner):
    """Return the distribution in whose file the deepest frame of the traceback lies."""
    culprit = None
    for frame in traceback.extract_tb(error.__traceback__):
        path = os.path.abspath(frame[0])
        if path.startswith(site + os.sep):
            head = path[len(site) + 1 :].split(os.sep)[0]
            culprit = owner.get(head.split(".")[0], culprit)
    return culprit


def attempt(names, site, owner, sink):
    """Import in this (forked) process and write the error, if any, to the pipe."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    report = {}
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:
            line = (traceback.format_exception_only(type(error), error)[-1]).strip()
            report = {"error": line[:500], "blame": blame(error, site, owner)}
            break
    os.write(sink, json.dumps(report).encode("ascii") + b"\n")
    os._exit(0)


def try_import(names, site, owner, seconds):
    """Return {} or the error of importing some modules in a child."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        os.setsid()
        try:
            attempt(names, site, owner, sink)
        finally:
            os._exit(1)
    os.close(sink)
    ready, _, _ = select.select([source], [], [], seconds)
    data = os.read(source, 1 << 16) if ready else b""
    os.close(source)
    try:
        os.killpg(child, signal.SIGKILL)
    except OSError:
        pass
    os.waitpid(child, 0)
    if data.endswith(b"\n"):
        return json.loads(data.decode("ascii"))
    return {"error": "crashed" if ready else "took longer than %d s" % seconds, "blame": None}


def main(seconds, distributions):
    """Check all and write the report."""
    site = os.path.abspath(sysconfig.get_path("purelib"))
    modules, owner = owners(site)
    dead = {}
    for name in distributions:
        report = try_import(chosen(name, modules.get(name, [])), site, owner, seconds)
        if report:
            dead[name] = report
    os.write(3, json.dumps(dead).encode("ascii"))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])

"""Readers of trajectory files, one module each: every module here that has a `READER` is one."""

import pkgutil
from functools import cache
from importlib import import_module

from patchreview.trajectory.readers.interface import Reader


@cache
def all_readers() -> tuple[Reader, ...]:
    """Return every reader, by its name."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    readers = [module.READER for module in modules if hasattr(module, "READER")]
    return tuple(sorted(readers, key=lambda reader: reader.name))

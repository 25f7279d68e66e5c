"""The dataset formats by name: a module of `adapters` is a format, and offers it as `EXPORTER`."""

import importlib
import pkgutil

from swequarry.errors import UsageError
from swequarry.export import adapters
from swequarry.export.interface import Exporter


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, sorted."""
    return tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(adapters.__path__)))


def exporter_of(name: str) -> Exporter:
    """Return the exporter of a format.

    Raises:
        UsageError: there is no such format; names those there are.
    """
    if name not in format_names():
        raise UsageError(f"no format {name!r}; there are {', '.join(format_names())}")
    module = importlib.import_module(f"{adapters.__name__}.{name.replace('-', '_')}")
    exporter: Exporter = module.EXPORTER
    return exporter

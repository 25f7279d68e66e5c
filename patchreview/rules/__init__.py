"""The rules, one module each: every module here that has a `RULE` is one."""

import pkgutil
from functools import cache
from importlib import import_module

from patchreview.interface import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule, by its code."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    rules = [module.RULE for module in modules if hasattr(module, "RULE")]
    return tuple(sorted(rules, key=lambda rule: rule.code))

"""What a pristine world offers to Python and pytest; asked before any candidate's file is in it."""

import json
from dataclasses import dataclass
from typing import Any

from swequarry.delta import TreeDelta
from swequarry.errors import SandboxError
from swequarry.records import Recipe
from swequarry.sandbox.contract import PYTHON, Command, Limits, SandboxBackend, World
from swequarry.verify.payload import BOOTSTRAP, survey_program

STRANGE_PLUGIN = "a plugin that the environment doesn't have: "
_PRELOADED = {"pytest": ["pytest"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Importable top-level names, folders of the checkout on sys.path, (name, object) of pytest's plugins."""

    names: frozenset[str]
    roots: tuple[bytes, ...] = ()
    plugins: tuple[tuple[str, str], ...] = ()

    def guard(self, framework: str) -> str:
        """Return the orders of `inside/guard.py` for a run of a framework, as JSON."""
        orders = {
            "plugins": self.plugins,
            "roots": [root.decode("utf-8", "surrogateescape") for root in self.roots],
            "preload": _PRELOADED.get(framework, []),
            "strange": STRANGE_PLUGIN,
        }
        return json.dumps(orders)


def survey(backend: SandboxBackend, world: World, recipe: Recipe, limits: Limits) -> Survey:
    """Ask a world; takes about as long as Python takes to start.

    Raises:
        SandboxError: the machinery broke, or the world's Python doesn't answer.
    """
    argv = (PYTHON, "-c", BOOTSTRAP)
    command = Command(argv=argv, variables=dict(recipe.variables), stdin=survey_program())
    result = backend.run_once(world, TreeDelta(), command, limits)
    try:
        found: dict[str, Any] = json.loads(result.report)
        return Survey(
            names=frozenset(found["names"]),
            roots=tuple(root.encode("utf-8", "surrogateescape") for root in found["roots"]),
            plugins=tuple((name, value) for name, value in found["plugins"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        said = result.output[-500:].decode("utf-8", "replace")
        raise SandboxError(f"the world's Python doesn't say what it offers: {said}") from error

"""What an attack is, and the two shapes of most of them: files put somewhere, code put into the fix."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import dedent

from swequarry.verify.attacks.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A way to pass (or, among the honest, to solve) a task: its name, its code, and the patch for a task."""

    name: str
    code: str
    make: Callable[[Target], bytes | None]


def planted(name: str, code: str, files: Mapping[str, str | None]) -> Attack:
    """Return the attack that puts files into a checkout; `{tests}` and `{package}` name the task's folders.

    None deletes a file. A text is added to what a file has at base.
    """

    def make(target: Target) -> bytes | None:
        changes: dict[str, bytes | None] = {}
        for path, text in files.items():
            place = target.named(path)
            base = target.read(place) or b""
            changes[place] = None if text is None else base + target.named(dedent(text)).encode("utf-8")
        return target.patch(changes)

    return Attack(name=name, code=code, make=make)


def in_module(name: str, code: str, payload: str) -> Attack:
    """Return the attack that runs code when the module is imported that the fix would have changed."""

    def make(target: Target) -> bytes | None:
        return target.patch_module(dedent(payload))

    return Attack(name=name, code=code, make=make)


def in_function(name: str, code: str, payload: str) -> Attack:
    """Return the attack that puts another function in the place of each one that the fix changes.

    `payload` defines `make(original, name)`, which returns the new one.
    """
    swap = """
        def _swap(names):
            import sys
            for dotted in names:
                owner, (*path, last) = sys.modules[__name__], dotted.split(".")
                for part in path:
                    owner = getattr(owner, part, None)
                if owner is not None:
                    setattr(owner, last, make(getattr(owner, last, None), last))


        _swap({names})
        """

    def make(target: Target) -> bytes | None:
        if not target.names:
            return None
        return target.patch_module(
            dedent(payload) + "\n\n" + dedent(swap).replace("{names}", repr(target.names))
        )

    return Attack(name=name, code=code, make=make)

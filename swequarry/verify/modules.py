"""Which modules of a checkout a test file imports, also through packages that pass names on."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from swequarry.syntax.imports import STAR, Import, attributes_of, imports_of

_DEPTH = 8
"""How many packages may pass a name on; cycles end here."""


@dataclass(slots=True)
class Modules:
    """The Python files of a checkout by path, as bytes."""

    sources: Mapping[bytes, bytes]
    _imports: dict[bytes, list[Import]] = field(default_factory=dict)
    _places: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Learn under which names the files are imported."""
        for path in sorted(self.sources):
            self._places.setdefault(self.name_of(path), path)

    def name_of(self, path: bytes) -> str:
        """Return the dotted name of a file: from the topmost folder on that is a package."""
        folder, _, file = path.rpartition(b"/")
        parts = [file.removesuffix(b".py")]
        while folder and folder + b"/__init__.py" in self.sources:
            folder, _, last = folder.rpartition(b"/")
            parts.append(last)
        if parts[0] == b"__init__" and len(parts) > 1:
            parts = parts[1:]
        return b".".join(reversed(parts)).decode("utf-8", "replace")

    def reaches(self, path: bytes, wanted: Collection[bytes]) -> bool:
        """Whether a file imports one of some others, or a name that is from one."""
        return any(found in wanted for found in self.imported(path))

    def imported(self, path: bytes) -> Iterator[bytes]:
        """Yield the files of the checkout that a file imports from."""
        for one in self._of(path):
            module = self._absolute(path, one)
            if one.names:
                for name, _ in one.names:
                    yield from self._origins(module, name, _DEPTH)
                continue
            yield from self._known(module)
            if "." not in module or one.bound != module.partition(".")[0]:  # `import a`, `import a.b as c`
                for name in attributes_of(self.sources[path], one.bound):
                    yield from self._origins(module, name, _DEPTH)

    def _of(self, path: bytes) -> list[Import]:
        if path not in self._imports:
            self._imports[path] = imports_of(self.sources[path])
        return self._imports[path]

    def _known(self, module: str) -> Iterator[bytes]:
        if module in self._places:
            yield self._places[module]

    def _absolute(self, path: bytes, one: Import) -> str:
        """Return the whole name of the module that an import of a file is from."""
        if not one.level:
            return one.module
        parts = self.name_of(path).split(".")
        inside = path.rpartition(b"/")[2] == b"__init__.py"
        parts = parts[: len(parts) - one.level + (1 if inside else 0)]
        return ".".join([*parts, one.module] if one.module else parts)

    def _origins(self, module: str, name: str, depth: int) -> Iterator[bytes]:
        """Yield the files that a name of a module is from: the module's, and those that it has it from."""
        whole = f"{module}.{name}" if module else name
        if whole in self._places:
            yield self._places[whole]
            return
        path = self._places.get(module)
        if path is None or not depth:
            return
        yield path
        for one in self._of(path):
            for theirs, ours in one.names:
                if name in (ours, STAR) or ours == STAR:
                    yield from self._origins(
                        self._absolute(path, one), theirs if ours != STAR else name, depth - 1
                    )

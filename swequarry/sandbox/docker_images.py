"""Base images: what the setting names, which Pythons are in it."""

import json
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from swequarry.errors import SandboxError
from swequarry.sandbox.contract import Interpreter, Limits
from swequarry.sandbox.docker_engine import DockerEngine, engine_trouble
from swequarry.sandbox.interpreters import newest_first

LABEL_PYTHONS = "swequarry.interpreters"
_PLACEHOLDER = "{python}"
_MINORS = tuple(f"3.{minor}" for minor in range(6, 16))
_ASK = (
    "import json, platform, sys; print(json.dumps({'version': platform.python_version(), "
    "'path': sys.executable, 'prefix': sys.prefix}))"
)


class BaseImages:
    """The local images that the setting `base_image` stands for."""

    def __init__(self, engine: DockerEngine, setting: str, memory: Path) -> None:
        self._engine = engine
        self._setting = setting
        self._memory = memory

    def _names(self) -> Iterator[str]:
        if _PLACEHOLDER in self._setting:
            yield from (self._setting.replace(_PLACEHOLDER, minor) for minor in _MINORS)
        else:
            yield self._setting

    def found(self) -> tuple[tuple[Interpreter, str], ...]:
        """Return each Python of the local base images with its image, newest first."""
        pairs = {}
        for name in self._names():
            image = self._engine.image(name)
            if image is None:
                continue
            label = ((image.get("Config") or {}).get("Labels") or {}).get(LABEL_PYTHONS)
            pythons = (
                [Interpreter(**item) for item in json.loads(label)] if label else self._asked(image["Id"])
            )
            pairs.update(dict.fromkeys(pythons, name))
        return tuple((python, pairs[python]) for python in newest_first(pairs))

    def missing(self) -> tuple[str, ...]:
        """Return what to do where no base image is local."""
        if self.found():
            return ()
        example = self._setting.replace(_PLACEHOLDER, "3.11")
        mend = f"docker pull {example}, or run `swequarry images base` and set sandbox.base_image to its tag"
        return (f"base image {example} isn't here: {mend}",)

    def image_for(self, python: Interpreter | None) -> tuple[str, str]:
        """Return (image, path of the Python in it that starts commands) for an interpreter, newest for None.

        Raises:
            SandboxError: no local image has it.
        """
        found = self.found()
        for candidate, image in found:
            if python is None or candidate == python:
                return image, candidate.path
        wanted = python.version if python else "any Python"
        raise SandboxError(
            f"no base image here has {wanted}; " + "; ".join(self.missing() or ("choose another",))
        )

    def _asked(self, image: str) -> list[Interpreter]:
        """Ask an image that isn't ours for its Python, once."""
        known = self._recall()
        if image not in known:
            known[image] = self._ask(image)
            self._memory.write_text(json.dumps(known), encoding="ascii")
        said = known[image]
        return [Interpreter(**said)] if said and Version(said["version"]) >= Version("3.6") else []

    def _recall(self) -> dict[str, dict[str, str] | None]:
        try:
            known: dict[str, dict[str, str] | None] = json.loads(self._memory.read_bytes())
        except (OSError, ValueError):
            return {}
        return known

    def _ask(self, image: str) -> dict[str, str] | None:
        api = self._engine.api
        with engine_trouble(f"ask image {image} for its Python"):
            host = api.create_host_config(network_mode="none")
            container = api.create_container(
                image, ["-I", "-c", _ASK], entrypoint=["python3"], host_config=host
            )["Id"]
            try:
                api.start(container)
                api.wait(container, timeout=Limits().wall_s)
                said = api.logs(container, stdout=True, stderr=False)
            finally:
                self._engine.remove(container)
        try:
            answer: dict[str, str] = json.loads(said)
        except ValueError:
            return None
        return answer

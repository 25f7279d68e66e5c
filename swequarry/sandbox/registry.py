"""Pushes local images to a registry, and says under which digest others pull them."""

import re

from swequarry.errors import RegistryDeniedError, RegistryError, SandboxError
from swequarry.sandbox.docker_engine import DockerEngine, engine_trouble

_DENIED = re.compile(r"unauthorized|denied|no basic auth|authentication required", re.IGNORECASE)


def push_image(engine: DockerEngine, local: str, remote: str) -> str:
    """Push a local image under a name in a registry; return `name@sha256:...` as the registry knows it.

    Credentials are those of the engine (`docker login`).

    Raises:
        SandboxError: the image isn't here, or the engine is gone.
        RegistryError: the registry can't be reached or refuses.
    """
    repository, _, version = remote.rpartition(":")
    digest = ""
    with engine_trouble(f"push {remote}"):
        if not engine.api.tag(local, repository, version):
            raise SandboxError(f"docker: can't give {local} the name {remote}")
        for said in engine.api.push(repository, tag=version, stream=True, decode=True):
            if "error" in said:
                raise _refusal(remote, said["error"])
            digest = said.get("aux", {}).get("Digest", digest)
    if not digest:
        raise RegistryError(f"docker pushed {remote} without telling its digest; look into the registry")
    return f"{repository}@{digest}"


def _refusal(remote: str, said: str) -> RegistryError:
    if _DENIED.search(said):
        return RegistryDeniedError(f"the registry refuses {remote}: {said}; `docker login` to it first")
    return RegistryError(f"can't push {remote}: {said}; is the registry running, and named as HOST:PORT?")

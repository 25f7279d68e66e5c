"""Where the settings want the workers of a run to be."""

import functools
import sys

from swequarry.pipeline.executor import ExecutorOptions
from swequarry.pipeline.line import MachineCheck
from swequarry.pipeline.stages.house import House

_MB = 1024**2


def executor_options(house: House, phase: str) -> ExecutorOptions:
    """Return how a phase of a run is executed."""
    settings, logs = house.settings, house.workspace.logs
    wanted = settings.executor
    if wanted.kind == "local":
        return ExecutorOptions(workers=settings.workers, scope=phase, lease_s=wanted.lease_s, logs=logs)
    from swequarry.pipeline.crews.ray import RayCrew, RayOptions  # noqa: PLC0415 - most runs need no cluster

    cluster = RayOptions(
        address=wanted.address,
        cpus=wanted.cpus,
        memory_bytes=settings.sandbox.memory_mb * _MB,
        max_workers=wanted.max_workers,
        check=MachineCheck.of(house),
    )
    return ExecutorOptions(
        workers=wanted.max_workers or sys.maxsize,
        scope=phase,
        lease_s=wanted.lease_s,
        logs=logs,
        open_crew=functools.partial(RayCrew, options=cluster),
    )

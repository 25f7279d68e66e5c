"""Where workers run."""

from typing import Literal

from pydantic import Field

from swequarry.config.section import Section


class ExecutorSettings(Section):
    """`local` has `workers` processes on this machine, `ray` as many as a Ray cluster has room for.

    `address` is the cluster's, `auto` that of the machine or of `RAY_ADDRESS`. A worker counts for `cpus`
    CPUs and, in Ray's books, for the memory that a sandbox may use (`sandbox.memory_mb`). `max_workers` is
    the most of them.
    `lease_s` is how long the item of a machine that vanished stays with it at most.
    """

    kind: Literal["local", "ray"] = "local"
    address: str = "auto"
    cpus: float = Field(default=1.0, gt=0)
    max_workers: int | None = Field(default=None, ge=1)
    lease_s: float = Field(default=60.0, ge=1)

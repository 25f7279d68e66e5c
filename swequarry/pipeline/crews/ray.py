"""Workers on the machines of a Ray cluster (extra `ray`): one actor each, started where there is room.

Ray finds the machines, starts the actors and tells when a machine is gone. What is done with an item, and who
may do it, is as everywhere else: the actor keeps a worker process of its machine, the ledger the leases.
"""

import logging
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Self

from swequarry.errors import InputError, WorkerError
from swequarry.pipeline.crews.interface import Died, Hand, Lost, Message
from swequarry.pipeline.crews.node_worker import NodeWorker, Unfit
from swequarry.pipeline.stopping import STOP_SIGNALS
from swequarry.pipeline.worker import Ready, WorkerSetup

_LOOK_S = 2.0
"""How often the list of machines is asked for: one that was added has work within this time."""
_GRACE_S = 5.0
_EARLY_LOSSES = 3
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LOG = logging.getLogger("swequarry.executor")


@dataclass(frozen=True, slots=True, kw_only=True)
class RayOptions:
    """The cluster's address, and what one worker takes of a machine; see `ExecutorSettings`.

    `check` runs on each machine and returns what it lacks for this work.
    """

    address: str = "auto"
    cpus: float = 1.0
    memory_bytes: int = 0
    max_workers: int | None = None
    check: Callable[[], tuple[str, ...]] | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class RayHand(Hand):
    """An actor on a machine; `answer` is what it is asked now."""

    actor: Any
    node: str
    answer: Any


@dataclass(slots=True)
class _Machines:
    """The machines of the cluster, looked up now and then; those that can't do this work are left out."""

    options: RayOptions
    unfit: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _known: list[dict[str, Any]] = field(default_factory=list)
    _looked_at: float = float("-inf")

    def room(self) -> dict[str, int]:
        """Return how many workers each machine has room for."""
        import ray  # noqa: PLC0415 - an extra

        if time.monotonic() - self._looked_at > _LOOK_S:
            self._known = [node for node in ray.nodes() if node["Alive"]]
            self._looked_at = time.monotonic()
        found = {node["NodeID"]: self._slots(node["Resources"]) for node in self._known}
        return {node: slots for node, slots in found.items() if slots and node not in self.unfit}

    def forget(self) -> None:
        """Look again next time: a machine is gone."""
        self._looked_at = float("-inf")

    def _slots(self, has: dict[str, float]) -> int:
        slots = int(has.get("CPU", 0) / self.options.cpus)
        if self.options.memory_bytes:
            slots = min(slots, int(has.get("memory", 0) / self.options.memory_bytes))
        return slots

    def all_unfit(self) -> str | None:
        """Return why there is no machine for this work at all; None while there is or may be one."""
        alive = {node["NodeID"]: node["NodeManagerAddress"] for node in self._known}
        if not self.unfit or self.room() or set(alive) - set(self.unfit) - self._empty():
            return None
        return "; ".join(f"{alive.get(node, node)}: {', '.join(why)}" for node, why in self.unfit.items())

    def _empty(self) -> set[str]:
        return {node["NodeID"] for node in self._known if not self._slots(node["Resources"])}


class RayCrew:
    """See `Crew`. `fill` has room for what the machines have."""

    def __init__(self, setup: WorkerSetup, options: RayOptions) -> None:
        self._setup = setup
        self._options = options
        self._machines = _Machines(options)
        self._hands: list[RayHand] = []
        self._early_losses = 0
        self._connected_here = False

    def __enter__(self) -> Self:
        """Connect to the cluster.

        Raises:
            InputError: Ray isn't installed.
            WorkerError: no cluster is there.
        """
        if find_spec("ray") is None:
            raise InputError("executor.kind ray needs Ray: install swequarry[ray] on every machine")
        import ray  # noqa: PLC0415 - an extra

        if not ray.is_initialized():
            self._connected_here = True
            with _own_signals():
                try:
                    ray.init(address=self._options.address, log_to_driver=False, logging_level="warning")
                except (ConnectionError, RuntimeError) as error:
                    raise WorkerError(
                        f"no Ray cluster at {self._options.address!r}: {error}; `ray start --head` starts one"
                    ) from error
        self._actor = ray.remote(max_restarts=0, max_concurrency=2)(NodeWorker)
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()
        import ray  # noqa: PLC0415 - an extra

        if self._connected_here:
            with _own_signals():
                ray.shutdown()

    @property
    def busy(self) -> tuple[RayHand, ...]:
        """The workers that have an item."""
        return tuple(hand for hand in self._hands if hand.item is not None)

    @property
    def idle(self) -> tuple[RayHand, ...]:
        """The workers that wait for an item."""
        return tuple(hand for hand in self._hands if hand.item is None and hand.mark is not None)

    def fill(self, number: int) -> None:
        """Have so many workers, as far as the machines have room; those with most of it come first."""
        wanted = min(number, self._options.max_workers or number) - len(self._hands)
        if wanted <= 0:
            return
        taken = Counter(hand.node for hand in self._hands)
        free = Counter({node: slots - taken[node] for node, slots in self._machines.room().items()})
        while wanted > 0 and (free := +free):
            node, _ = free.most_common(1)[0]
            free[node] -= 1
            wanted -= 1
            self._start_on(node)

    def give(self, hand: Hand, item: str, portion: object) -> None:
        """Send an item to an idle worker."""
        assert isinstance(hand, RayHand)  # noqa: S101 - it is given what `idle` returned
        hand.item = item
        hand.answer = hand.actor.work.remote(item, portion)

    def listen(self, timeout_s: float) -> Iterator[tuple[Hand, Message]]:
        """Yield what workers say within a time; see `Crew`."""
        import ray  # noqa: PLC0415 - an extra

        waiting = {hand.answer: hand for hand in self._hands if hand.answer is not None}
        if not waiting:
            why = None if self._hands else self._machines.all_unfit()
            if why is not None:
                raise WorkerError(f"no machine of the cluster can do this work: {why}")
            time.sleep(timeout_s)
            return
        refs = list(waiting)
        ready, _ = ray.wait(refs, num_returns=1, timeout=timeout_s)
        if ready:
            ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
        for ref in ready:
            hand = waiting[ref]
            message = self._read(hand)
            if isinstance(message, Unfit):
                self._refuse(hand, message)
            else:
                yield hand, message

    def drop(self, hand: Hand) -> None:
        """End a worker by force; its process dies with the actor that keeps it."""
        import ray  # noqa: PLC0415 - an extra

        assert isinstance(hand, RayHand)  # noqa: S101 - it is given what `busy` returned
        ray.kill(hand.actor)
        self._hands.remove(hand)

    def stop(self) -> None:
        """End all workers: busy ones are told first, so that they clean up."""
        import ray  # noqa: PLC0415 - an extra

        busy = [hand for hand in self.busy if hand.answer is not None]
        for hand in busy:
            hand.actor.stop.remote()
        if busy:
            ray.wait([hand.answer for hand in busy], num_returns=len(busy), timeout=_GRACE_S)
        for hand in self._hands:
            ray.kill(hand.actor)
        self._hands.clear()

    def _start_on(self, node: str) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 - an extra

        place = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        options: dict[str, Any] = {"num_cpus": self._options.cpus, "scheduling_strategy": place}
        if self._options.memory_bytes:
            options["memory"] = self._options.memory_bytes
        actor = self._actor.options(**options).remote(self._setup, self._options.check)
        self._hands.append(RayHand(actor=actor, node=node, answer=actor.start.remote()))

    def _read(self, hand: RayHand) -> Message | Unfit:
        import ray  # noqa: PLC0415 - an extra

        ref, hand.answer = hand.answer, None
        try:
            message: Message | Unfit = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            raise WorkerError(f"a worker on a machine of the cluster can't start: {error}") from error
        except ray.exceptions.RayError as error:
            return self._lose(hand, error)
        if isinstance(message, Ready):
            hand.mark = message.mark
            self._early_losses = 0
        elif isinstance(message, Died):
            self.drop(hand)  # its place is free again, for a new one
        return message

    def _lose(self, hand: RayHand, error: Exception) -> Lost:
        self._hands.remove(hand)
        self._machines.forget()
        lines = _COLOURS.sub("", str(error)).strip().splitlines() or ["no message"]
        how = f"{type(error).__name__}: {lines[-1].strip()}"
        if hand.mark is None:
            self._early_losses += 1
            if self._early_losses >= _EARLY_LOSSES:
                raise WorkerError(f"{self._early_losses} workers in a row were lost before they stood: {how}")
        return Lost(how=how)

    def _refuse(self, hand: RayHand, message: Unfit) -> None:
        if hand.node not in self._machines.unfit:
            _LOG.warning("a machine of the cluster gets no work: %s", "; ".join(message.reasons))
        self._machines.unfit[hand.node] = message.reasons
        self.drop(hand)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our handlers, which count what the user asks for; Ray sets some of its own."""
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS} if main else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

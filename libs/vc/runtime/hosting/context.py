"""The dependencies of a service: adapters, clock, random generator, log, metrics and tracer."""

import logging
import random
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter

from vc.bus import Bus
from vc.clock import Clock, ServerClock
from vc.cluster import Cluster
from vc.model.values.times import parse_time
from vc.runtime.containment.problems import ProblemRows
from vc.runtime.hosting.tracing import NoTracer, Tracer
from vc.snapshot import SnapshotStore


class Service(Protocol):
    """The interface of a service that a `Host` can run."""

    name: str

    async def run(self) -> None:
        """Serve until cancelled, and clean up on cancellation.
        The host restarts a service that raises.
        """
        ...

    def unready(self) -> str:
        """The reason why the service cannot do its work now; empty if it is ready."""
        ...


@dataclass(frozen=True, kw_only=True)
class Context:
    """Everything a service gets from outside.
    Embedded mode, stack and cluster differ only in adapters.
    """

    name: str
    bus: Bus
    cluster: Cluster
    snapshot: SnapshotStore
    clock: Clock
    """`now` is the API server's time if the process follows it (`ServerClock`)."""
    identity: str
    """Unique per process; used as holder of Leases and as member id in consumer groups."""
    namespace: str = "volcano-system"
    """The namespace of our own objects: Leases and configuration."""
    rng: random.Random = field(default_factory=random.Random)
    """Source of jitter; seeded in simulations."""
    metrics: CollectorRegistry = field(default_factory=CollectorRegistry)
    tracer: Tracer = field(default_factory=NoTracer)
    """Receives the spans of job traces."""
    dead_letters: Counter = field(init=False)
    """Counts dead letters of the whole service, over all topics that it follows."""
    problems: ProblemRows = field(init=False)
    """Objects and records that could not be processed and were left out."""

    def __post_init__(self) -> None:
        dead_letters = Counter(
            "pyroclast_dead_letters",
            "Records that could not be processed, by topic and why: unreadable, newer-schema, too-large,"
            " unknown-kind, foreign-cluster.",
            ("service", "topic", "reason"),
            registry=self.metrics,
        )
        # The dataclass is frozen, and these two fields depend on others.
        object.__setattr__(self, "dead_letters", dead_letters)
        problems = ProblemRows(self.name, registry=self.metrics, log=self.log)
        object.__setattr__(self, "problems", problems)

    def time_unknown(self) -> str:
        """The reason why no time-dependent decision may be made; empty if the time is known."""
        if isinstance(self.clock, ServerClock) and not self.clock.known:
            return "the API server's time is not known yet"
        return ""

    def clock_moved_seconds(self) -> float:
        """The sum of all corrections of `clock.now` since the process started;
        negative means set backwards.
        """
        return self.clock.moved_seconds if isinstance(self.clock, ServerClock) else 0.0

    def observe_creation(self, timestamp: str) -> None:
        """Record the creationTimestamp of an object: the API server's clock had reached it."""
        created = parse_time(timestamp)
        if isinstance(self.clock, ServerClock) and created is not None:
            self.clock.observe_creation(created)

    @property
    def log(self) -> logging.Logger:
        """Logger of the service. One line per decision; structured fields are passed in `extra`."""
        return logging.getLogger(f"pyroclast.{self.name}")

"""What a service is given: its adapters, its clock, its chance, its log, its meters, its tracer."""

import logging
import random
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter

from vc_bus import Bus
from vc_clock import Clock, ServerClock
from vc_cluster import Cluster
from vc_runtime.problems import Problems
from vc_runtime.tracing import NoTracer, Tracer
from vc_snapshot import SnapshotStore


class Service(Protocol):
    """A service that can be hosted."""

    name: str

    async def run(self) -> None:
        """Serve until cancelled; clean up on the way out. An exception means: restart me."""
        ...

    def unready(self) -> str:
        """Why it cannot do its work now; empty when it can."""
        ...


@dataclass(frozen=True, kw_only=True)
class Context:
    """One service's world. Only adapters differ between embedded mode, the stack and a cluster."""

    name: str
    bus: Bus
    cluster: Cluster
    snapshot: SnapshotStore
    clock: Clock
    """`now` is the API server's time where the process follows it (`ServerClock`)."""
    identity: str
    """Unique per process: the holder of Leases, the member of groups."""
    namespace: str = "volcano-system"
    """Where our own objects live: Leases, configuration."""
    chance: random.Random = field(default_factory=random.Random)
    """For jitter; seeded in simulations."""
    metrics: CollectorRegistry = field(default_factory=CollectorRegistry)
    tracer: Tracer = field(default_factory=NoTracer)
    """Where the steps of jobs are told."""
    dead_letters: Counter = field(init=False)
    """Counted for the service as a whole, however many logs it follows."""
    problems: Problems = field(init=False)
    """Objects and records that could not be processed, and were left out."""

    def __post_init__(self) -> None:
        letters = Counter(
            "pyroclast_dead_letters",
            "Records that were put aside, by topic and why: unreadable, newer-schema, too-large,"
            " unknown-kind, foreign-cluster.",
            ("service", "topic", "reason"),
            registry=self.metrics,
        )
        object.__setattr__(self, "dead_letters", letters)
        problems = Problems(self.name, registry=self.metrics, log=self.log)
        object.__setattr__(self, "problems", problems)

    def time_unknown(self) -> str:
        """Why nothing may be decided that depends on the time; empty when the time is known."""
        if isinstance(self.clock, ServerClock) and not self.clock.known:
            return "the API server has not said what time it is"
        return ""

    def clock_moved_seconds(self) -> float:
        """By how much `clock.now` was set since the process began, backwards counted negative."""
        return self.clock.moved_seconds if isinstance(self.clock, ServerClock) else 0.0

    @property
    def log(self) -> logging.Logger:
        """One line per decision; fields go in `extra`."""
        return logging.getLogger(f"pyroclast.{self.name}")

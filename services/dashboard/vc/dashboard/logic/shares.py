"""Shares of queues, order of jobs and usable nodes, computed by the deciding plugins.

A session is opened over the facts, and nothing is decided. This costs about as much as opening a
session, so the shell caches a `SharesAndOrder` for some seconds. The session itself is not kept.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import numpy as np

from vc.model.faults import describe
from vc.scheduling import plugins
from vc.scheduling.closing.share_report import QueueFigures, figures
from vc.scheduling.conf.model import Conf
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.session.session import Session
from vc.scheduling.what_if import Simulation

SESSIONS_MAX: Final = 400
"""Limit of sessions of one simulation, on a small cluster."""
SESSIONS_MIN: Final = 30
"""Limit of sessions of one simulation on the largest cluster, enough for one change."""
OBJECTS_LOOKED_AT_MAX: Final = 4_000_000
"""Limit between the two: a session reads every object about once."""


class GaveUpError(Exception):
    """A simulation reached its bound without a result. The message names the bound."""


class BoundedSimulation(Simulation):
    """A simulation with a limit of sessions and time, which can also be inspected."""

    sessions_left: int = SESSIONS_MAX
    sessions_run: int = 0
    go_on: Callable[[], bool] | None = None
    """Called before each session. None means that there is time."""

    def bound(self, objects: int, go_on: Callable[[], bool] | None = None) -> None:
        """Set the limit for the following sessions by the size of the cluster."""
        # A session costs about as much as the number of objects.
        allowed = OBJECTS_LOOKED_AT_MAX // max(1, objects)
        self.sessions_left = max(SESSIONS_MIN, min(SESSIONS_MAX, allowed))
        self.sessions_run, self.go_on = 0, go_on

    def _session(self) -> Decisions:
        if self.go_on is not None and not self.go_on():
            raise GaveUpError(f"no time was left after {self.sessions_run} sessions")
        if self.sessions_run >= self.sessions_left:
            raise GaveUpError(f"gave up after {self.sessions_run} sessions")
        self.sessions_run += 1
        return super()._session()

    def look(self, conf: Conf) -> Session:
        """A newly opened session. Nothing is decided on it."""
        snapshot = self._cache.snapshot("look", now=self.now)
        return Session(snapshot, Framework(conf, plugins.REGISTRY), self.now)


class SharesAndOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of queues, and the order of jobs, as the plugins compute them."""

    queues: dict[str, QueueFigures] = {}
    order: dict[str, int] = {}
    """Positions of PodGroups in their queues, of those with pending decisions."""
    basis: str = ""
    """Source of the configuration, or why nothing is known."""


def shares_of(simulation: BoundedSimulation, conf: Conf, *, basis: str) -> SharesAndOrder:
    """Shares and order. If a plugin is missing or raises, only the
    shares are missing in the answer."""
    try:
        session = simulation.look(conf)
        found = figures(session.snapshot, conf, session.now).queues
        return SharesAndOrder(queues=found, order=order_of(session), basis=basis)
    except Exception as error:  # noqa: BLE001 - whatever third parties' plugins may raise
        return SharesAndOrder(basis=f"nothing is known of shares: {describe(error)}")


def order_of(session: Session) -> dict[str, int]:
    """The position of every PodGroup in its queue, as the plugins order them."""
    queues: dict[str, list[tuple[object, str]]] = {}
    for group in session.snapshot.groups:
        key = session.framework.order.job_order_key(session, group)
        queues.setdefault(group.queue, []).append((key, group.key))
    return {group: place for of in queues.values() for place, (_, group) in enumerate(sorted(of))}


def usable_nodes(session: Session, group: str) -> Mapping[str, None] | None:
    """Nodes that pass the predicates of any waiting pod, whatever is
    free. None without waiting pods."""
    row = session.snapshot.all_groups.get(group)
    # Without waiting pods there is nothing to filter for.
    if row is None or not row.runs:
        return None
    masks = [session.node_capacity.filtered(run.shape).mask for run in row.runs]
    names = session.snapshot.nodes.static.names
    return {names[at]: None for at in np.flatnonzero(np.logical_or.reduce(masks))}

"""How queues and jobs stand now, by the plugins that decide: shares, order, and who may use which node.

Facts are laid out as a session sees them, and nothing is decided. That costs about as much as opening a
session, so the shell keeps a `Standing` for some seconds; what it was taken from is let go.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import numpy as np

from vc_model.faults import describe
from vc_scheduler.logic import plugins
from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.decisions import Decisions
from vc_scheduler.logic.figures import QueueFigures, figures
from vc_scheduler.logic.framework import Framework
from vc_scheduler.logic.session import Session
from vc_scheduler.logic.what_if import Trial

SESSIONS_MAX: Final = 400
"""Of one trial, on a small cluster."""
SESSIONS_MIN: Final = 30
"""Of one trial, on the largest: one change can be tried to its end."""
OBJECTS_LOOKED_AT_MAX: Final = 4_000_000
"""Between the two: a session looks at every object once, more or less."""


class GaveUpError(Exception):
    """A trial came to its bound before anything was settled; says which."""


class BoundedTrial(Trial):
    """A trial that ends after so many sessions, or when its asker has no more time, and can be looked into."""

    sessions_left: int = SESSIONS_MAX
    sessions_run: int = 0
    go_on: Callable[[], bool] | None = None
    """Asked before each session; None: there is time."""

    def bound(self, objects: int, go_on: Callable[[], bool] | None = None) -> None:
        """From now on: as many sessions as this size of a cluster allows."""
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
        """A session that has just been opened; nothing is decided on it."""
        snapshot = self._columns.snapshot("look", now=self.now)
        return Session(snapshot, Framework(conf, plugins.REGISTRY), self.now)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What plugins say of queues, and in which order they have the jobs."""

    queues: dict[str, QueueFigures] = {}
    order: dict[str, int] = {}
    """Groups with something to decide: their place in their queue."""
    basis: str = ""
    """Whose configuration was used, or why nothing is known."""


def standing_of(trial: BoundedTrial, conf: Conf, *, basis: str) -> Standing:
    """A plugin that is missing here, or raises, costs the answer its shares and nothing else."""
    try:
        session = trial.look(conf)
        found = figures(session.snapshot, conf, session.now).queues
        return Standing(queues=found, order=order_of(session), basis=basis)
    except Exception as error:  # noqa: BLE001 - whatever third parties' plugins may raise
        return Standing(basis=f"nothing is known of shares: {describe(error)}")


def order_of(session: Session) -> dict[str, int]:
    """Every group's place in its queue, as the plugins order them."""
    queues: dict[str, list[tuple[object, str]]] = {}
    for group in session.snapshot.groups:
        key = session.framework.job_key(session, group)
        queues.setdefault(group.queue, []).append((key, group.key))
    return {group: place for of in queues.values() for place, (_, group) in enumerate(sorted(of))}


def usable_nodes(session: Session, group: str) -> Mapping[str, None] | None:
    """Nodes that pass the checks of any of its pods that wait, whatever is free; None when it has none."""
    row = session.snapshot.everybody.get(group)
    if row is None or not row.runs:
        return None
    masks = [session.rooms.filtered(run.shape).mask for run in row.runs]
    names = session.snapshot.nodes.static.names
    return {names[at]: None for at in np.flatnonzero(np.logical_or.reduce(masks))}

"""The shared parts of all services: hosting, consuming facts, applying effects, leader election.

A service is a thin shell around pure logic. It follows facts (`follower`), decides when its view is
ready, applies the returned effects (`effects`) and commits its cursor only after that. Code that is
the same in every shell is in this package.
"""

from vc.runtime.applying.effects import EffectApplier, Outcome, OutcomeStatus
from vc.runtime.applying.workqueue import WorkQueue
from vc.runtime.consuming.follower import Batch, Follower
from vc.runtime.hosting.context import Context, Service
from vc.runtime.leading.election import Leadership

__all__ = [
    "Batch",
    "Context",
    "EffectApplier",
    "Follower",
    "Leadership",
    "Outcome",
    "OutcomeStatus",
    "Service",
    "WorkQueue",
]

"""What every service runs on: context, hosting, following facts, applying effects, leading.

A service is a thin shell: it follows facts (`follower`), decides with its pure logic when
the view is ready, applies the returned effects (`effects`), and only then moves its cursor. What is
the same in every shell is here, once.
"""

from vc_runtime.context import Context, Service
from vc_runtime.effects import EffectApplier, Outcome, OutcomeStatus
from vc_runtime.follower import Batch, Follower
from vc_runtime.leader import Leadership
from vc_runtime.workqueue import WorkQueue

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

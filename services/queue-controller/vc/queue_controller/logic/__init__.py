"""The pure core: maps all queues, PodGroups and Commands to effects.

It is level-triggered over the whole tree. States are computed from the top down, so a queue below a
closed one is closed in the same decision, whatever the order of observation was.
"""

from vc.queue_controller.logic.decide import Observed, decide

__all__ = ["Observed", "decide"]

"""The pure core: all queues, pod groups and commands go in, effects come out.

Level-triggered over the whole tree: states are computed from the top down, so that a queue below a
closed one is closed in the same decision, whatever order things became known in.
"""

from vc_queue_controller.logic.decide import Observed, decide

__all__ = ["Observed", "decide"]

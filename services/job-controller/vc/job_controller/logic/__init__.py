"""The pure core: maps the observed state of one job to effects.

`decide` is the only entry point. It follows the table in `phases`: an order (a Command or a policy)
may start a step to another phase; without an order, the state of the pods determines the next
phase. The new status contains all intent and is written first. Only then is the work of the new
phase done (`work`). No state is kept between two decisions except in the objects themselves, so a
restarted controller continues where the last one stopped.
"""

from vc.job_controller.logic.decide import decide
from vc.job_controller.logic.observed import Blocker, Decision, ObservedJob

__all__ = ["Blocker", "Decision", "ObservedJob", "decide"]

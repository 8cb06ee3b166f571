"""The pure core: what is observed of one job goes in, effects come out.

`decide` is the one door. It reads like the table in `phases`: an order (a command or a policy) may
start a step to another phase, else the phase settles by what the pods show. The new status, which
holds all intent, is written first; only then the work of the new phase is done (`work`). Nothing is
remembered between two decisions but what stands in the objects themselves, so a restarted
controller goes on in the middle of whatever was under way.
"""

from vc_job_controller.logic.decide import decide
from vc_job_controller.logic.observed import Decision, Observed, Trouble

__all__ = ["Decision", "Observed", "Trouble", "decide"]

"""The condition PodScheduled=False and the events of waiting pods (ADR 0030).

`closing/unscheduled_pods.py` decides at the end of a session which pods get or change the
condition. An overlay of the cache keeps the decision over the facts until it is observed. `effects`
builds the writes, and `background_queue` orders and limits them.
"""

from typing import Final

POD_CONDITION_SECONDS: Final = 2.0
"""Minimum age of a waiting pod before its condition is written; pods placed sooner cost no write."""

"""The condition PodScheduled=False and the events of pods that wait (ADR 0030).

`unscheduled` decides in a session's close which pods get or change the condition; `overlay` keeps what was
decided over the facts until it is seen; `effects` are the writes; `background_queue` orders and paces them.
"""

from typing import Final

POD_CONDITION_SECONDS: Final = 2.0
"""Pods that are placed sooner after they were created cost no write for waiting."""

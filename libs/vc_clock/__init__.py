"""The one place that owns time.

Logic never asks for the time: it is given `now`. Shells hold a `Clock`, so that a test can run
minutes of a whole stack in milliseconds on a `VirtualLoop` (see `vc_clock.virtual`), where every
sleep is a jump and the same seed gives the same history.
"""

from vc_clock.clock import Clock, LoopClock
from vc_clock.server_clock import ServerClock
from vc_clock.virtual import DeadlockError, VirtualLoop, run_virtual

__all__ = ["Clock", "DeadlockError", "LoopClock", "ServerClock", "VirtualLoop", "run_virtual"]

"""Time: the only package that reads clocks.

Logic never reads the time; it gets `now` as an argument. Shells have a `Clock`, so that a test can
run minutes of a whole stack in milliseconds on a `VirtualLoop` (see `vc.clock.virtual`), where a
sleep advances the time at once and equal seeds yield equal runs.
"""

from vc.clock.clock import Clock, LoopClock
from vc.clock.server_clock import ServerClock
from vc.clock.virtual import DeadlockError, VirtualLoop, run_virtual

__all__ = ["Clock", "DeadlockError", "LoopClock", "ServerClock", "VirtualLoop", "run_virtual"]

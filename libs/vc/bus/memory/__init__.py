"""The in-memory twin of Kafka: partitions, groups, compaction, retention, wipes and outages.

`log` is one partition, `following` reads logs and waits for new records, `group` assigns
partitions, `faults` injects faults, and `bus` implements the interface. Records are stored as bytes
and decoded again, so that nothing is shared by reference. On a VirtualLoop a run depends only on
its seed.
"""

from vc.bus.memory.bus import MemoryBus
from vc.bus.memory.faults import Faults

__all__ = ["Faults", "MemoryBus"]

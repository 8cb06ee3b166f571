"""The in-memory twin of Kafka: partitions, groups, compaction, retention, wipes and outages.

`log` is one partition, `following` reads logs and sleeps until there is something to read, `group`
shares partitions, `faults` decides what goes wrong, `bus` is the face of it all. Bytes go in and
records are rebuilt from bytes, so nothing is shared by reference. On a VirtualLoop a run is a
function of its seed.
"""

from vc_bus.memory.bus import MemoryBus
from vc_bus.memory.faults import Faults

__all__ = ["Faults", "MemoryBus"]

"""The bus over Kafka, with aiokafka.

`config` reads the environment, `policy` maps a declared topic to Kafka's settings and verifies
them, `broker` queries topics and offsets over `connections`, `publisher` writes, `reader` and
`member` read, and `watchdog` detects what aiokafka does not report: deleted topics and stalled
consumers. Connections are made on demand, so that a service may start before its broker, and are
closed within a bounded time (`ending`).
"""

from vc.bus.kafka.bus import KafkaBus
from vc.bus.kafka.config import KafkaConfig

__all__ = ["KafkaBus", "KafkaConfig"]

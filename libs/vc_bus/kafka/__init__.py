"""The bus over Kafka, by aiokafka.

`config` reads the environment, `policy` turns a declared topic into Kafka's settings and back,
`broker` asks about topics and offsets over `connections`, `publisher` writes, `reader` and `member`
read, and `watchdog` notices what aiokafka does not tell: topics that were deleted, consumers that
stand still. Connections are made when they are needed, so that a service may start before its broker,
and ended in a bounded time (`ending`).
"""

from vc_bus.kafka.bus import KafkaBus
from vc_bus.kafka.config import KafkaConfig

__all__ = ["KafkaBus", "KafkaConfig"]

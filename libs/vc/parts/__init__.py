"""Gets and starts real servers (Kafka, Redis, kube-apiserver, etcd, KWOK, Jaeger) for tests,
benches and `make stack`.

For each part the first possible way is used: an address in the environment; a container if a Docker
engine responds (Kafka, Redis); an installed program or a build from a package registry, which is
kept in a cache folder. If there is no way, an error says what is missing and how to get it.

There are three levels of use:

- `require_or_skip_reason(part)` decides whether a test can run (`availability`), and
  `obtain_required()` builds what `PYROCLAST_REQUIRE` names before the first test;
- `kafka_address()`, `redis_address()`, `kubernetes_address()`, `jaeger_address()` provide a server
  to use (`addresses`);
- `KafkaServer`, `RedisServer`, `ControlPlane`, `KwokServer`, `JaegerServer`, `EtcdServer` start a
  server that a test may kill or restart (`servers`).

`python -m vc.parts --help` describes the command line. Importing this package takes a tenth of a
second; the clients of Kafka and HTTP are imported when a server is started.
"""

from vc.parts.addresses import (
    JaegerAddress,
    jaeger_address,
    kafka_address,
    kubernetes_address,
    redis_address,
)
from vc.parts.availability import availability_of, obtain_required, require_or_skip_reason
from vc.parts.errors import PartError
from vc.parts.fetch.getting import find, obtain
from vc.parts.servers.etcd import EtcdServer
from vc.parts.servers.jaeger import JaegerServer
from vc.parts.servers.kafka import KafkaServer
from vc.parts.servers.kubernetes import ControlPlane
from vc.parts.servers.kwok import KwokServer, fake_node
from vc.parts.servers.redis import RedisServer
from vc.parts.users import User

__all__ = [
    "ControlPlane",
    "EtcdServer",
    "JaegerAddress",
    "JaegerServer",
    "KafkaServer",
    "KwokServer",
    "PartError",
    "RedisServer",
    "User",
    "availability_of",
    "fake_node",
    "find",
    "jaeger_address",
    "kafka_address",
    "kubernetes_address",
    "obtain",
    "obtain_required",
    "redis_address",
    "require_or_skip_reason",
]

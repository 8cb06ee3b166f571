"""Gets and starts the real servers (Kafka, Redis, kube-apiserver, etcd, KWOK, Jaeger) for tests, benches and `make stack`.

The order for each part: an address given in the environment -> a container when a Docker engine answers (Kafka, Redis) ->
the machine's own program or a build from a package registry, kept in a cache folder -> a sentence that says what is
missing and how to get it.

Three ways in, from the outside to the inside:

- `require_or_skip_reason(part)` tells a test whether it may go on (`availability`), and `obtain_required()` builds what
  `PYROCLAST_REQUIRE` names before the first test;
- `kafka_address()`, `redis_address()`, `kubernetes_address()`, `jaeger_address()` give a server to use (`addresses`);
- `KafkaServer`, `RedisServer`, `ControlPlane`, `KwokServer`, `JaegerServer`, `EtcdServer` give one to hurt (`servers`).

`python -m vc_parts --help` is the same for people. Importing all of it takes a tenth of a second; the clients of Kafka
and HTTP are imported when a server is started.
"""

from vc_parts.addresses import (
    JaegerAddress,
    jaeger_address,
    kafka_address,
    kubernetes_address,
    redis_address,
)
from vc_parts.availability import availability_of, obtain_required, require_or_skip_reason
from vc_parts.errors import PartError
from vc_parts.getting import find, obtain
from vc_parts.kubeconfig import User
from vc_parts.servers.etcd import EtcdServer
from vc_parts.servers.jaeger import JaegerServer
from vc_parts.servers.kafka import KafkaServer
from vc_parts.servers.kubernetes import ControlPlane
from vc_parts.servers.kwok import KwokServer, fake_node
from vc_parts.servers.redis import RedisServer

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

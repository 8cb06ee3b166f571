"""The environment variables that every service reads: addresses, health, logs and traces."""

from typing import Final

from vc.model import variables
from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.variables import AnyVariable, Variable

LOG_LEVEL: Final = variables.choice(
    "LOG_LEVEL",
    "info",
    known=("debug", "info", "warning", "warn", "error", "critical"),
    any_case=True,
    meaning="least severe log line that is written",
)
LOG_FORMAT: Final = variables.choice(
    "LOG_FORMAT",
    "",
    known=("json", "line"),
    meaning="json or line; by default line on a terminal, else json",
)
HEALTH_HOST: Final = variables.text(
    "HEALTH_HOST", "127.0.0.1", meaning="address of /livez, /readyz and /metrics"
)
HEALTH_PORT: Final = variables.port(
    "HEALTH_PORT", 0, meaning="their port; 0 picks a free one, the log says which"
)
KUBECONFIG: Final = variables.text(
    "KUBECONFIG",
    meaning="kubeconfig of the API server; not needed inside a cluster",
)
POD_NAMESPACE: Final = variables.text(
    "POD_NAMESPACE", SYSTEM_NAMESPACE, meaning="namespace of the Leases and ConfigMaps"
)
KAFKA_BOOTSTRAP_SERVERS: Final = variables.text(
    "KAFKA_BOOTSTRAP_SERVERS", meaning="host:port,…; without it the bus is in memory"
)
REDIS_URL: Final = variables.text(
    "REDIS_URL",
    secret=True,
    meaning="redis://… or rediss://…; without it the snapshot cache is in memory",
)
OTEL_EXPORTER_OTLP_ENDPOINT: Final = variables.text(
    "OTEL_EXPORTER_OTLP_ENDPOINT", meaning="http(s)://… of a collector; without it no traces"
)

PREFIX_CHARACTERS_MAX: Final = 64


def _topic_prefix(written: str) -> str:
    usual = all(c.isascii() and (c.isalnum() or c in "._-") for c in written)
    if not usual or len(written) > PREFIX_CHARACTERS_MAX:
        raise ValueError(
            f"write at most {PREFIX_CHARACTERS_MAX} letters, digits, dots, underscores and hyphens"
        )
    return written


KAFKA_TOPIC_PREFIX: Final = Variable(
    "KAFKA_TOPIC_PREFIX",
    "",
    meaning="before the names of all topics and groups, so that clusters can share a Kafka",
    parse=_topic_prefix,
)

KAFKA_VARIABLES: Final[tuple[AnyVariable, ...]] = (
    KAFKA_BOOTSTRAP_SERVERS,
    KAFKA_TOPIC_PREFIX,
    variables.choice(
        "KAFKA_SECURITY_PROTOCOL",
        "PLAINTEXT",
        known=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        meaning="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
    ),
    variables.choice(
        "KAFKA_SASL_MECHANISM",
        "PLAIN",
        known=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
        meaning="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
    ),
    variables.text("KAFKA_SASL_USERNAME", meaning="of SASL_PLAINTEXT and SASL_SSL"),
    variables.text("KAFKA_SASL_PASSWORD", secret=True, meaning="its password"),
    variables.file("KAFKA_SSL_CAFILE", meaning="certificates to trust, for SSL and SASL_SSL"),
    variables.file("KAFKA_SSL_CERTFILE", meaning="client certificate"),
    variables.file("KAFKA_SSL_KEYFILE", meaning="its key"),
    variables.text("KAFKA_SSL_KEY_PASSWORD", secret=True, meaning="password of the key"),
    variables.integer(
        "KAFKA_REPLICATION_FACTOR",
        -1,
        low=-1,
        high=1000,
        meaning="of topics that are created; -1 leaves it to the brokers",
    ),
    variables.text("KAFKA_CLIENT_ID", "pyroclast", meaning="name of the client at the brokers"),
)

SHARED_VARIABLES: Final[tuple[AnyVariable, ...]] = (
    KUBECONFIG,
    POD_NAMESPACE,
    *KAFKA_VARIABLES,
    REDIS_URL,
    OTEL_EXPORTER_OTLP_ENDPOINT,
    HEALTH_HOST,
    HEALTH_PORT,
    LOG_LEVEL,
    LOG_FORMAT,
)

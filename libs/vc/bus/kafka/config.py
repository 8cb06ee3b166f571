"""Addresses and credentials of the brokers, from variables named like librdkafka's settings."""

import ssl
from collections.abc import Mapping
from typing import Any, Final, Self

import msgspec
from aiokafka.helpers import create_ssl_context

REQUEST_SECONDS_MAX: Final = 10.0
"""Time limit of one request."""

METADATA_SECONDS_MAX: Final = 60.0
"""Maximum age of a client's metadata; errors refresh it at once."""

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_BROKERS_DEFAULT: Final = -1


class KafkaConfigError(ValueError):
    """An invalid setting; the message names the variable."""


class KafkaConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a Kafka client."""

    bootstrap_servers: str
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    sasl_username: str = ""
    sasl_password: str = ""
    ssl_cafile: str = ""
    ssl_certfile: str = ""
    ssl_keyfile: str = ""
    ssl_key_password: str = ""
    replication_factor: int = _BROKERS_DEFAULT
    """Replication factor of topics that we create; -1 uses the brokers' default."""
    client_id: str = "pyroclast"

    def __repr__(self) -> str:
        """Servers and protocol only: a configuration is logged, and passwords must not be."""
        return f"KafkaConfig({self.bootstrap_servers}, {self.security_protocol})"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Reads KAFKA_BOOTSTRAP_SERVERS and, where needed,
        KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_…, KAFKA_SSL_…
        """
        given = {
            field: env[f"KAFKA_{field.upper()}"]
            for field in cls.__struct_fields__
            if env.get(f"KAFKA_{field.upper()}")
        }
        if "bootstrap_servers" not in given:
            raise KafkaConfigError("KAFKA_BOOTSTRAP_SERVERS is not set")
        _one_of(given, "security_protocol", _PROTOCOLS)
        _one_of(given, "sasl_mechanism", _MECHANISMS)
        try:
            return msgspec.convert(given, cls, strict=False)
        except msgspec.ValidationError as error:
            raise KafkaConfigError(f"KAFKA_REPLICATION_FACTOR: {error}") from None

    def client_settings(self) -> dict[str, Any]:
        """The settings common to all aiokafka clients."""
        settings: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers,
            "client_id": self.client_id,
            "security_protocol": self.security_protocol,
            "request_timeout_ms": int(REQUEST_SECONDS_MAX * 1000),
            "metadata_max_age_ms": int(METADATA_SECONDS_MAX * 1000),
        }
        if self.security_protocol.startswith("SASL"):
            settings["sasl_mechanism"] = self.sasl_mechanism
            settings["sasl_plain_username"] = self.sasl_username
            settings["sasl_plain_password"] = self.sasl_password
        if self.security_protocol.endswith("SSL"):
            settings["ssl_context"] = self._ssl_context()
        return settings

    def _ssl_context(self) -> ssl.SSLContext:
        context: ssl.SSLContext = create_ssl_context(
            cafile=self.ssl_cafile or None,
            certfile=self.ssl_certfile or None,
            keyfile=self.ssl_keyfile or None,
            password=self.ssl_key_password or None,
        )
        return context


def _one_of(given: Mapping[str, str], field: str, known: tuple[str, ...]) -> None:
    if field in given and given[field] not in known:
        raise KafkaConfigError(
            f"KAFKA_{field.upper()}={given[field]!r}: use one of {', '.join(known)}"
        )

"""Kafka's settings: from the environment, and from a topic's declaration."""

import msgspec
import pytest
from aiokafka import errors as kafka_errors

from tests.contracts.bus.steps import topic
from vc.bus import (
    BusClosedError,
    BusError,
    BusForbiddenError,
    BusUnavailableError,
    OffsetGoneError,
    OversizeError,
    TopicMismatchError,
    TopicMissingError,
)
from vc.bus.kafka import KafkaConfig
from vc.bus.kafka.config import KafkaConfigError
from vc.bus.kafka.errors import as_bus_error
from vc.bus.kafka.policy import settings_of, verify

ADDRESS = {"KAFKA_BOOTSTRAP_SERVERS": "a:9092,b:9092"}


def test_an_address_is_enough() -> None:
    settings = KafkaConfig.from_env(ADDRESS).client_settings()
    assert settings["bootstrap_servers"] == "a:9092,b:9092"
    assert settings["security_protocol"] == "PLAINTEXT"
    assert "ssl_context" not in settings
    assert "sasl_plain_password" not in settings


def test_tls_and_a_password() -> None:
    config = KafkaConfig.from_env(
        {
            **ADDRESS,
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "KAFKA_SASL_USERNAME": "me",
            "KAFKA_SASL_PASSWORD": "secret",
            "KAFKA_REPLICATION_FACTOR": "3",
        }
    )
    settings = config.client_settings()
    assert settings["sasl_mechanism"] == "SCRAM-SHA-512"
    assert settings["sasl_plain_password"] == "secret"
    assert settings["ssl_context"].check_hostname
    assert config.replication_factor == 3
    assert "secret" not in repr(config), "a configuration may be logged"


class EnvCase(msgspec.Struct, frozen=True):
    """An environment that cannot be used, and the variable that is named."""

    id: str
    env: dict[str, str]
    names: str


@pytest.mark.parametrize(
    "case",
    [
        EnvCase("no address", {}, "KAFKA_BOOTSTRAP_SERVERS"),
        EnvCase(
            "an unknown protocol",
            {**ADDRESS, "KAFKA_SECURITY_PROTOCOL": "TLS"},
            "KAFKA_SECURITY_PROTOCOL='TLS'",
        ),
        EnvCase(
            "an unknown mechanism",
            {**ADDRESS, "KAFKA_SASL_MECHANISM": "GSSAPI"},
            "KAFKA_SASL_MECHANISM='GSSAPI'",
        ),
        EnvCase(
            "a factor that is no number",
            {**ADDRESS, "KAFKA_REPLICATION_FACTOR": "many"},
            "KAFKA_REPLICATION_FACTOR",
        ),
    ],
    ids=lambda case: case.id,
)
def test_a_bad_environment_is_named(case: EnvCase) -> None:
    with pytest.raises(KafkaConfigError, match=case.names):
        KafkaConfig.from_env(case.env)


def test_an_empty_variable_is_not_set() -> None:
    assert KafkaConfig.from_env({**ADDRESS, "KAFKA_SECURITY_PROTOCOL": ""}).security_protocol == (
        "PLAINTEXT"
    )


def test_a_compacted_topic_keeps_tombstones_and_is_cleaned_soon() -> None:
    assert settings_of(topic(compacted=True)) == {
        "cleanup.policy": "compact",
        "delete.retention.ms": "86400000",
        "max.compaction.lag.ms": "600000",
        "max.message.bytes": str(4 * 1024 * 1024 + 64 * 1024),
        "segment.ms": "600000",
    }


def test_any_other_topic_is_deleted_by_age() -> None:
    settings = settings_of(topic())
    assert settings["cleanup.policy"] == "delete"
    assert settings["retention.ms"] == "86400000"


class PolicyCase(msgspec.Struct, frozen=True):
    """A setting that is other than declared; empty `names` when it may be."""

    id: str
    change: dict[str, str]
    names: str = ""


@pytest.mark.parametrize(
    "case",
    [
        PolicyCase("as declared", {}),
        PolicyCase("larger messages may be allowed", {"max.message.bytes": "99999999"}),
        PolicyCase("smaller ones not", {"max.message.bytes": "1048588"}, "max.message.bytes"),
        PolicyCase("segments may be closed earlier", {"segment.ms": "1000"}),
        PolicyCase("but not later", {"segment.ms": "604800000"}, "segment.ms"),
        PolicyCase("cleaned later", {"max.compaction.lag.ms": "9223372036854775807"}, "lag"),
        PolicyCase("another policy", {"cleanup.policy": "compact,delete"}, "cleanup.policy"),
        PolicyCase("tombstones go too early", {"delete.retention.ms": "1"}, "delete.retention.ms"),
        PolicyCase("nothing is known", {"cleanup.policy": ""}, "unknown"),
    ],
    ids=lambda case: case.id,
)
def test_verification(case: PolicyCase) -> None:
    declared = topic(compacted=True)
    found = {**settings_of(declared), **case.change}
    if not case.names:
        verify(declared, partitions=12, settings=found)
        return
    with pytest.raises(TopicMismatchError, match=case.names):
        verify(declared, partitions=12, settings=found)


class ErrorCase(msgspec.Struct, frozen=True):
    """What aiokafka raises and what it is called here."""

    id: str
    error: Exception
    kind: type[BusError]


@pytest.mark.parametrize(
    "case",
    [
        ErrorCase("no topic", kafka_errors.UnknownTopicOrPartitionError(), TopicMissingError),
        ErrorCase("no offset", kafka_errors.OffsetOutOfRangeError(), OffsetGoneError),
        ErrorCase("too large", kafka_errors.MessageSizeTooLargeError(), OversizeError),
        ErrorCase("no connection", kafka_errors.KafkaConnectionError(), BusUnavailableError),
        ErrorCase("no answer", kafka_errors.KafkaTimeoutError(), BusUnavailableError),
        ErrorCase("our own time-out", TimeoutError(), BusUnavailableError),
        ErrorCase("a refused socket", ConnectionRefusedError(), BusUnavailableError),
        ErrorCase("no leader", kafka_errors.NotLeaderForPartitionError(), BusUnavailableError),
        ErrorCase("closed", kafka_errors.ConsumerStoppedError(), BusClosedError),
        ErrorCase("no rights", kafka_errors.TopicAuthorizationFailedError(), BusForbiddenError),
    ],
    ids=lambda case: case.id,
)
def test_errors_in_our_words(case: ErrorCase) -> None:
    translated = as_bus_error(case.error, what="reading")
    assert type(translated) is case.kind
    assert str(translated).startswith("reading: ")

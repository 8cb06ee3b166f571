"""TLS and a password, from the environment, against a broker that asks for both."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tests.contracts.bus.steps import at_start, message, new_topic, read, values
from vc.bus import BusError
from vc.bus.kafka import KafkaBus, KafkaConfig
from vc.clock import LoopClock
from vc.parts import KafkaServer, require_or_skip_reason
from vc.parts.certificates import Authority
from vc.parts.ports import LOOPBACK, free_port

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def secured(server: KafkaServer, *, port: int, keystore: Path) -> dict[str, str]:
    """A second door that asks for TLS and a password; the first stays for the parts' own probe."""
    open_door = f"PLAINTEXT://{LOOPBACK}:{server.port}"
    door = f"SASL_SSL://{LOOPBACK}:{port}"
    names = ("PLAINTEXT", "SASL_SSL")
    return {
        "listeners": f"{open_door},{door},CONTROLLER://{LOOPBACK}:{server.controller_port}",
        "advertised.listeners": f"{open_door},{door}",
        "listener.security.protocol.map": ",".join(f"{n}:{n}" for n in names)
        + ",CONTROLLER:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN_LOGIN} user_me="secret";',
    }


def as_pkcs8(key: bytes) -> bytes:
    """The only form of a private key that Java reads."""
    return load_pem_private_key(key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """What a service would find in its environment."""
    reason = require_or_skip_reason("kafka")
    if reason:
        pytest.skip(reason)
    authority = Authority()
    issued = authority.issue_server("kafka", hosts=(LOOPBACK,))
    keystore, trusted = tmp_path / "keystore.pem", tmp_path / "ca.crt"
    keystore.write_bytes(as_pkcs8(issued.key) + issued.certificate)
    trusted.write_bytes(authority.key_pair.certificate)
    port = free_port()
    server = KafkaServer()
    server.settings = secured(server, port=port, keystore=keystore)
    async with server:
        yield {
            "KAFKA_BOOTSTRAP_SERVERS": f"{LOOPBACK}:{port}",
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": "PLAIN",
            "KAFKA_SASL_USERNAME": "me",
            "KAFKA_SASL_PASSWORD": "secret",
            "KAFKA_SSL_CAFILE": str(trusted),
        }


async def test_who_has_the_password_gets_in_and_others_do_not(env: dict[str, str]) -> None:
    bus = await KafkaBus.connect(KafkaConfig.from_env(env), clock=LoopClock())
    name = await new_topic(bus)
    await bus.publish([message(name, value=b"sealed")])
    reader = await bus.reader(at_start(name))
    assert values(await read(reader, 1)) == [b"sealed"]
    await bus.close()
    for wrong in ({"KAFKA_SASL_PASSWORD": "guess"}, {"KAFKA_SSL_CAFILE": ""}):
        stranger = await KafkaBus.connect(KafkaConfig.from_env(env | wrong), clock=LoopClock())
        with pytest.raises(BusError):
            await stranger.end_offsets(name)
        await stranger.close()

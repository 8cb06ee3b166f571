"""The same broker with TLS and passwords: SASL_SSL with SCRAM-SHA-512, as used in companies.

Users and their passwords are created with the data folder, because without a user none could be
created later. The controller's listener is plain text on loopback, because it connects one process
with itself.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

from vc.parts.certificates import Authority
from vc.parts.ports import LOOPBACK
from vc.parts.probe import kafka_answers
from vc.parts.process import Process
from vc.parts.servers.kafka import KafkaServer

MECHANISM = "SCRAM-SHA-512"
_PASSWORD_BYTES = 18
_BROKER = "broker"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


class SecuredKafka(KafkaServer):
    """A broker with SASL_SSL. Services log in with the variables of `client_environment`."""

    def __init__(
        self,
        *,
        folder: Path | None = None,
        user: str = "pyroclast",
        others: Mapping[str, str] | None = None,
    ) -> None:
        """`others` are further users with their passwords, whose permissions come from ACLs only.

        With any of them the broker enforces ACLs, and `user` is its administrator.
        """
        super().__init__(folder=folder)
        self._user = user
        self._others = dict(others or {})
        self.password = secrets.token_urlsafe(_PASSWORD_BYTES)
        self._broker_password = secrets.token_urlsafe(_PASSWORD_BYTES)
        self._authority = Authority("pyroclast-kafka")
        self.ca = self.folder / "kafka-ca.crt"
        """The certificate authority that clients trust."""
        self.settings |= self._secured() | (self._authorized() if others else {})

    @property
    def client_environment(self) -> dict[str, str]:
        """The variables of `vc.bus`, without the address."""
        return {
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": MECHANISM,
            "KAFKA_SASL_USERNAME": self._user,
            "KAFKA_SASL_PASSWORD": self.password,
            "KAFKA_SSL_CAFILE": str(self.ca),
        }

    def make_process(self) -> Process:
        self.ca.write_bytes(self._authority.key_pair.certificate)
        return super().make_process()

    async def answers(self) -> bool:
        from aiokafka.helpers import create_ssl_context

        return await kafka_answers(
            self.bootstrap_servers,
            self.port,
            security_protocol="SASL_SSL",
            sasl_mechanism=MECHANISM,
            sasl_plain_username=self._user,
            sasl_plain_password=self.password,
            ssl_context=create_ssl_context(cafile=str(self.ca)),
        )

    def format_arguments(self) -> list[str]:
        users = {_BROKER: self._broker_password, self._user: self.password, **self._others}
        return [
            word
            for name, password in users.items()
            for word in ("--add-scram", f"{MECHANISM}=[name={name},password={password}]")
        ]

    def _authorized(self) -> dict[str, str]:
        """Deny users without ACLs. The controller's plain listener has no authentication."""
        return {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "false",
            # ANONYMOUS is the broker itself on the plain controller listener.
            "super.users": f"User:{_BROKER};User:{self._user};User:ANONYMOUS",
        }

    def _secured(self) -> dict[str, str]:
        pair = self._authority.issue_server("kafka", hosts=(LOOPBACK, "localhost"))
        login = f'{_LOGIN} username="{_BROKER}" password="{self._broker_password}";'
        return {
            "listeners": f"SASL_SSL://{LOOPBACK}:{self.port},"
            f"CONTROLLER://{LOOPBACK}:{self.controller_port}",
            "advertised.listeners": f"SASL_SSL://{LOOPBACK}:{self.port}",
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "SASL_SSL",
            "sasl.enabled.mechanisms": MECHANISM,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config": login,
            # PEM texts inside the settings avoid Java key store files and their passwords.
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": _one_line(pair.key),
            "ssl.keystore.certificate.chain": _one_line(pair.certificate),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": _one_line(self._authority.key_pair.certificate),
        }


def _one_line(pem: bytes) -> str:
    """A PEM text in the form of a properties file."""
    return pem.decode().strip().replace("\n", "\\n")

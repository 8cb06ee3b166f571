"""The same broker behind TLS and a password: SASL_SSL with SCRAM-SHA-512, as brokers of companies are.

Users and their passwords are born with the data folder, since without one nobody could make the first.
The controller's listener stays plain on loopback: it is one process talking to itself.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

from vc_parts.certificates import Authority
from vc_parts.ports import LOOPBACK
from vc_parts.probe import kafka_answers
from vc_parts.process import Process
from vc_parts.servers.kafka import KafkaServer

MECHANISM = "SCRAM-SHA-512"
_PASSWORD_BYTES = 18
_BROKER = "broker"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required"


class SecuredKafka(KafkaServer):
    """`client_environment` is what a service is told to be let in."""

    def __init__(
        self,
        *,
        folder: Path | None = None,
        user: str = "pyroclast",
        others: Mapping[str, str] | None = None,
    ) -> None:
        """`others` are users with their passwords who may nothing but what ACLs give them.

        With any of them the broker authorizes; `user` is then its administrator.
        """
        super().__init__(folder=folder)
        self._user = user
        self._others = dict(others or {})
        self.password = secrets.token_urlsafe(_PASSWORD_BYTES)
        self._broker_password = secrets.token_urlsafe(_PASSWORD_BYTES)
        self._authority = Authority("pyroclast-kafka")
        self.ca = self.folder / "kafka-ca.crt"
        """What clients trust."""
        self.settings |= self._secured() | (self._authorized() if others else {})

    @property
    def client_environment(self) -> dict[str, str]:
        """The variables of `vc_bus`, without the address."""
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
        """Whoever has no ACL may nothing; the controller's plain listener knows no names."""
        return {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "false",
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
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": _one_line(pair.key),
            "ssl.keystore.certificate.chain": _one_line(pair.certificate),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": _one_line(self._authority.key_pair.certificate),
        }


def _one_line(pem: bytes) -> str:
    """As a properties file takes it."""
    return pem.decode().strip().replace("\n", "\\n")

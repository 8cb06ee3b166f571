"""Kafka and Redis with one user per service and enforced ACLs (`PYROCLAST_ACLS=on`).

An administrator runs `kafka-acls.sh` with the output of `pyroclast acls kafka`, and fills in the
digests in that of `pyroclast acls redis`. Here the same two texts are applied to the servers that
the stack starts. The stack and the tests therefore run with exactly the permissions of the chart.
"""

import asyncio
import hashlib
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from vc.cli.pyroclast.acls import kafka_script, redis_users, user_of
from vc.cli.pyroclast.services import SERVICES
from vc.messages.access import SNAPSHOTS
from vc.parts import RedisServer
from vc.parts.errors import PartError
from vc.parts.servers.kafka_secured import SecuredKafka

VARIABLE: Final = "PYROCLAST_ACLS"
_PASSWORD_BYTES: Final = 18
_RESOURCES: Final = {"--topic": 2, "--group": 3, "--cluster": 4}
_OPERATIONS: Final = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
_LITERAL: Final = 3
_ALLOW: Final = 3
_CLUSTER: Final = "kafka-cluster"


def acls_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the stack's own servers enforce ACLs.

    ValueError unless the value is `on` or `off`.
    """
    written = environment.get(VARIABLE) or "off"
    if written not in ("on", "off"):
        raise ValueError(f"{VARIABLE}={written!r}: write on or off")
    return written == "on"


class Acl(NamedTuple):
    """One rule, with the fields of Kafka's CreateAcls request in their order."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


def acls_in(script: str) -> Iterator[Acl]:
    """The rules that a script of `pyroclast acls kafka` creates."""
    for line in script.splitlines():
        if not line.startswith("acl --"):
            continue
        # One iterator, because the value of an option is the next element of the same sequence.
        words = iter(shlex.split(line)[1:])
        principal = ""
        operations: list[int] = []
        resources: list[tuple[int, str]] = []
        for word in words:
            if word == "--cluster":
                resources.append((_RESOURCES[word], _CLUSTER))
            elif word in _RESOURCES:
                resources.append((_RESOURCES[word], next(words)))
            elif word == "--operation":
                operations.append(_OPERATIONS[next(words)])
            elif word == "--allow-principal":
                principal = next(words)
            else:
                # An unknown option would silently grant less than the script says.
                raise ValueError(f"{word!r} in {line!r} is not an option that we write")
        # Like kafka-acls.sh, which creates one rule for each resource and operation of a line.
        for kind, name in resources:
            for operation in operations:
                yield Acl(kind, name, _LITERAL, principal, "*", operation, _ALLOW)


class AuthorizingKafka(SecuredKafka):
    """A broker with SASL_SSL whose ACLs are in force when `start` returns."""

    def __init__(self, *, folder: Path | None = None, script: str = "") -> None:
        """`script` is the output of `pyroclast acls kafka`. The default is that of this release."""
        self.passwords = {service: secrets.token_urlsafe(_PASSWORD_BYTES) for service in SERVICES}
        self._script = script or kafka_script()
        others = {user_of(service): password for service, password in self.passwords.items()}
        super().__init__(folder=folder, others=others)

    async def wait_until_usable(self) -> None:
        """Create the ACLs. Creating an existing ACL succeeds."""
        from aiokafka.admin import AIOKafkaAdminClient
        from aiokafka.protocol.admin import CreateAclsRequest

        from vc.bus.kafka import KafkaConfig

        config = KafkaConfig.from_env(self.environment_of(""))
        admin = AIOKafkaAdminClient(**config.client_settings())
        await admin.start()
        try:
            # aiokafka supports one rule per request: send them concurrently over one connection.
            answers = await asyncio.gather(
                *(
                    admin._send_request(CreateAclsRequest(*acl))  # noqa: SLF001 - it has no public method
                    for acl in acls_in(self._script)
                )
            )
        finally:
            await admin.close()
        for answer in answers:
            for code, message in answer.creation_responses:
                if code:
                    raise PartError(f"Kafka refused an ACL with code {code}: {message}")

    def environment_of(self, service: str) -> dict[str, str]:
        """The KAFKA_ variables of a service's user, or of the administrator for an empty name."""
        address = {"KAFKA_BOOTSTRAP_SERVERS": self.bootstrap_servers}
        if not service:
            return {**address, **self.client_environment}
        login = {
            "KAFKA_SASL_USERNAME": user_of(service),
            "KAFKA_SASL_PASSWORD": self.passwords[service],
        }
        return {**address, **self.client_environment, **login}


class AuthorizingRedis(RedisServer):
    """A Redis with the users file of `pyroclast acls redis`. `url` is that of the administrator."""

    def __init__(self, *, folder: Path | None = None, users: str = "") -> None:
        """`users` is a users file with placeholders. The default is that of this release."""
        self.passwords = {service: secrets.token_urlsafe(_PASSWORD_BYTES) for service in SNAPSHOTS}
        self.password = secrets.token_urlsafe(_PASSWORD_BYTES)
        text = users or redis_users()
        for service, password in self.passwords.items():
            digest = hashlib.sha256(password.encode()).hexdigest()
            # With the space, because the name of one user may be the beginning of another.
            text = text.replace(f"#PASSWORD_SHA256_OF_{user_of(service)} ", f"#{digest} ")
        super().__init__(folder=folder, password=self.password, users=text)

    def url_of(self, service: str) -> str:
        """The administrator's URL with the user of a service."""
        given = urlsplit(self.url)
        address = given.netloc.rpartition("@")[2]
        login = f"{user_of(service)}:{self.passwords[service]}"
        return given._replace(netloc=f"{login}@{address}").geturl()


def login_of(service: str, *, kafka: AuthorizingKafka, redis: AuthorizingRedis) -> dict[str, str]:
    """The variables with which a service logs in to both servers as its own user."""
    login = kafka.environment_of(service)
    # Services without snapshots have no user in Redis, so they do not get its address either.
    return {**login, "REDIS_URL": redis.url_of(service)} if service in SNAPSHOTS else login

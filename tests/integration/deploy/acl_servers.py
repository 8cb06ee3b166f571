"""Kafka and Redis that authorize: a user per service, with exactly the rights that the chart's files give."""

import hashlib
import shlex
from collections.abc import Iterator
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

from vc_bus.kafka import KafkaConfig
from vc_cli.acls import PREFIX_PLACEHOLDER, user_of
from vc_cli.services import SERVICES
from vc_messages.access import SNAPSHOTS
from vc_parts import RedisServer
from vc_parts.servers.kafka_secured import SecuredKafka

FILES = Path(__file__).parents[3] / "deploy/helm/pyroclast/acls"
ADMIN_PASSWORD = "password-of-redis"
_RESOURCES = {"--topic": 2, "--group": 3, "--cluster": 4}
_OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
_LITERAL, _ALLOW, _ANY_HOST, _CLUSTER = 3, 3, "*", "kafka-cluster"


def password_of(service: str) -> str:
    return f"password-of-{service}"


def acls_of(script: str) -> Iterator[tuple[int, str, int, str, str, int, int]]:
    """What kafka-acls.sh would create, as the protocol has it."""
    for line in script.splitlines():
        if not line.startswith("acl --"):
            continue
        words = shlex.split(line)[1:]
        principal, operations, resources = "", [], []
        while words:
            word = words.pop(0)
            if word == "--cluster":
                resources.append((_RESOURCES[word], _CLUSTER))
            elif word in _RESOURCES:
                resources.append((_RESOURCES[word], words.pop(0)))
            elif word == "--operation":
                operations.append(_OPERATIONS[words.pop(0)])
            else:
                assert word == "--allow-principal", word
                principal = words.pop(0)
        for kind, name in resources:
            for operation in operations:
                yield (kind, name, _LITERAL, principal, _ANY_HOST, operation, _ALLOW)


class AuthorizingKafka(SecuredKafka):
    """Has the chart's ACLs before anybody else comes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder=folder, others={user_of(service): password_of(service) for service in SERVICES}
        )

    async def start(self) -> None:
        await super().start()
        config = KafkaConfig.from_env(self.environment_of(""))
        admin = AIOKafkaAdminClient(**config.client_settings())
        await admin.start()
        script = (FILES / "kafka-acls.sh").read_text().replace(PREFIX_PLACEHOLDER, "")
        try:
            for acl in acls_of(script):
                response = await admin._send_request(CreateAclsRequest(*acl))
                ((code, message),) = response.creation_responses
                assert code == 0, message
        finally:
            await admin.close()

    def environment_of(self, service: str) -> dict[str, str]:
        """Of that service's user; of the administrator without one."""
        login = {
            "KAFKA_SASL_USERNAME": user_of(service),
            "KAFKA_SASL_PASSWORD": password_of(service),
        }
        address = {"KAFKA_BOOTSTRAP_SERVERS": self.bootstrap_servers}
        return {**address, **self.client_environment, **(login if service else {})}


def authorizing_redis(folder: Path) -> RedisServer:
    """With the chart's users, whose passwords' digests an administrator filled in."""
    users = (FILES / "users.acl").read_text()
    for service in SNAPSHOTS:
        digest = hashlib.sha256(password_of(service).encode()).hexdigest()
        users = users.replace(f"PASSWORD_SHA256_OF_{user_of(service)} ", f"{digest} ")
    return RedisServer(folder=folder, password=ADMIN_PASSWORD, users=users)


def redis_url_of(redis: RedisServer, service: str) -> str:
    return f"redis://{user_of(service)}:{password_of(service)}@127.0.0.1:{redis.port}/0"

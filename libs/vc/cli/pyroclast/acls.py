"""`pyroclast acls`: the access table as commands for Kafka and as a users file for Redis.

Every service has its own user, `vc-<service>`, with minimal permissions. In Kafka, Read and Write
include Describe, and idempotent producers need only Write. The chart contains both texts with
placeholders (`deploy/helm/pyroclast/acls`); `make acls` writes them, and a test compares them.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Final

from vc.cli.pyroclast.services import SERVICES
from vc.messages.access import SNAPSHOTS, KeyAccess, access_of

PREFIX_PLACEHOLDER: Final = "TOPIC_PREFIX"
_COMMAND: Final = "acl"
_NAMESPACE: Final = "pyroclast"

_CHECKPOINT_COMMANDS: Final = (
    "get",
    "hmget",
    "hlen",
    "set",
    "hset",
    "expire",
    "persist",
    "watch",
    "unwatch",
    "multi",
    "exec",
    "discard",
)
_READ_SESSIONS: Final = ("hget", "lrange")
_WRITE_SESSIONS: Final = (
    "eval",
    "evalsha",
    "script|load",
    "hget",
    "hset",
    "hdel",
    "hvals",
    "lpush",
    "lrem",
    "llen",
    "rpop",
    "get",
    "set",
    "incrby",
    "decrby",
    "exists",
    "del",
)
_CONNECTING: Final = ("auth", "hello", "ping", "select", "client|setinfo")  # fmt: skip


def user_of(service: str) -> str:
    """The user of a service in Kafka and Redis: the SASL name or the certificate's common name."""
    return f"vc-{service}"


def kafka_commands(*, prefix: str = "", plugins: Iterable[str] = ()) -> list[str]:
    """One command per user and set of operations. `plugins` names third-party plugins."""
    lines: list[str] = []
    guests = [f"plugin-{name}" for name in plugins]
    for service in (*SERVICES, *guests):
        access = access_of(service)
        writes = access.writes
        # Only the job-controller sends requests to plugins, so it alone writes to their topics.
        if service == "job-controller":
            writes += tuple(f"plugin.{name}.requests" for name in plugins)
        # A third-party plugin creates its own request topic, which the table does not have.
        makes = access.makes if service not in guests else (f"plugin.{service[7:]}.requests",)
        for operations, resource, names in (
            (("Read",), "--topic", access.reads),
            (("Write",), "--topic", writes),
            (("Create", "Describe", "DescribeConfigs"), "--topic", makes),
            (("Read",), "--group", access.groups),
        ):
            if names:
                allowed = " ".join(f"--operation {operation}" for operation in operations)
                on = " ".join(f"{resource} {prefix}{name}" for name in names)
                lines.append(f"{_COMMAND} --allow-principal User:{user_of(service)} {allowed} {on}")
    # The watcher reads settings of the brokers, which needs a permission on the cluster.
    watcher = f"{_COMMAND} --allow-principal User:{user_of('watcher')}"
    lines.append(f"{watcher} --operation DescribeConfigs --cluster")
    return lines


def kafka_script(*, prefix: str = "", plugins: Iterable[str] = ()) -> str:
    """The script for an administrator of the brokers."""
    head = (
        "#!/bin/sh\n"
        "# Made by `pyroclast acls kafka`. Set BOOTSTRAP_SERVERS and ADMIN_CONFIG (client properties of an\n"
        "# administrator). Brokers need an authorizer and allow.everyone.if.no.acl.found=false.\n"
        "set -eu\n"
        'acl() { kafka-acls.sh --bootstrap-server "$BOOTSTRAP_SERVERS" --command-config "$ADMIN_CONFIG"'
        ' --add "$@"; }\n'
    )
    return head + "\n".join(kafka_commands(prefix=prefix, plugins=plugins)) + "\n"


def redis_users(passwords: dict[str, str] | None = None) -> str:
    """The users file. Without passwords each line has a placeholder, which Redis rejects."""
    lines = []
    for service, access in SNAPSHOTS.items():
        user = user_of(service)
        # ">" marks a password in clear text, "#" its SHA-256 digest.
        secret = f">{passwords[service]}" if passwords else f"#PASSWORD_SHA256_OF_{user}"
        commands = " ".join(f"+{command}" for command in _commands(access))
        # Everything is denied first: a new Redis version may add commands.
        lines.append(
            f"user {user} on {secret} resetkeys resetchannels -@all {_keys(access)} {commands}"
        )
    return "\n".join(lines) + "\n"


def _keys(access: KeyAccess) -> str:
    patterns = [f"~{_NAMESPACE}:checkpoint:{name}" for name in access.checkpoints]
    patterns += [f"~{_NAMESPACE}:checkpoint:{name}:*" for name in access.checkpoints]
    # Redis 6 cannot restrict keys to reading; the commands do
    if access.writes_sessions or access.reads_sessions:
        patterns.append(f"~{_NAMESPACE}:sessions:*")
    return " ".join(patterns)


def _commands(access: KeyAccess) -> Sequence[str]:
    wanted = list(_CONNECTING)
    wanted += _CHECKPOINT_COMMANDS if access.checkpoints else ()
    wanted += _WRITE_SESSIONS if access.writes_sessions else ()
    wanted += _READ_SESSIONS if access.reads_sessions else ()
    return list(dict.fromkeys(wanted))


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command `pyroclast acls kafka|redis`."""
    acls = commands.add_parser("acls", help="print the ACLs of Kafka or Redis, a user per service")
    acls.add_argument("of", choices=("kafka", "redis"))
    acls.add_argument("--prefix", default="", help="KAFKA_TOPIC_PREFIX of the installation")
    acls.add_argument(
        "--plugin", action="append", default=[], metavar="NAME", help="a plugin of a third party"
    )
    acls.set_defaults(command=_print)


def _print(arguments: argparse.Namespace) -> int:
    if arguments.of == "redis":
        if arguments.prefix or arguments.plugin:
            raise ValueError("--prefix and --plugin are Kafka's; plugins do not use Redis")
        print(redis_users(), end="")
    else:
        print(kafka_script(prefix=arguments.prefix, plugins=arguments.plugin), end="")
    return 0

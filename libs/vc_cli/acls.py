"""`pyroclast acls`: the access table as commands for Kafka and as a users file for Redis.

Every service is a user of its own, `vc-<service>`. Rights are the least: Read and Write include Describe
on Kafka, and idempotent producers need nothing more than Write. The chart carries both texts with
placeholders (`deploy/helm/pyroclast/acls`); `make acls` writes them, and a test compares.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Final

from vc_cli.services import SERVICES
from vc_messages.access import SNAPSHOTS, KeyAccess, access_of

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
    """Its user at Kafka and at Redis; SASL names it, or the certificate's common name."""
    return f"vc-{service}"


def kafka_commands(*, prefix: str = "", plugins: Iterable[str] = ()) -> list[str]:
    """One command per user and sort of right; `plugins` are guests' names."""
    lines: list[str] = []
    guests = [f"plugin-{name}" for name in plugins]
    for service in (*SERVICES, *guests):
        access = access_of(service)
        writes = access.writes
        if service == "job-controller":
            writes += tuple(f"plugin.{name}.requests" for name in plugins)
        makes = access.makes if service not in guests else (f"plugin.{service[7:]}.requests",)
        for operations, resource, names in (
            (("Read",), "--topic", access.reads),
            (("Write",), "--topic", writes),
            (("Create", "Describe", "DescribeConfigs"), "--topic", makes),
            (("Read",), "--group", access.groups),
        ):
            if names:
                asked = " ".join(f"--operation {operation}" for operation in operations)
                on = " ".join(f"{resource} {prefix}{name}" for name in names)
                lines.append(f"{_COMMAND} --allow-principal User:{user_of(service)} {asked} {on}")
    watcher = f"{_COMMAND} --allow-principal User:{user_of('watcher')}"
    lines.append(f"{watcher} --operation DescribeConfigs --cluster")
    return lines


def kafka_script(*, prefix: str = "", plugins: Iterable[str] = ()) -> str:
    """For a person with an administrator's rights at the brokers."""
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
    """An ACL file; without passwords each line has a placeholder, which Redis refuses to take as one."""
    lines = []
    for service, access in SNAPSHOTS.items():
        user = user_of(service)
        secret = f">{passwords[service]}" if passwords else f"#PASSWORD_SHA256_OF_{user}"
        commands = " ".join(f"+{command}" for command in _commands(access))
        lines.append(
            f"user {user} on {secret} resetkeys resetchannels -@all {_keys(access)} {commands}"
        )
    return "\n".join(lines) + "\n"


def _keys(access: KeyAccess) -> str:
    patterns = [f"~{_NAMESPACE}:checkpoint:{name}" for name in access.checkpoints]
    patterns += [f"~{_NAMESPACE}:checkpoint:{name}:*" for name in access.checkpoints]
    if access.writes_sessions or access.reads_sessions:  # Redis 6 tells readers by their commands
        patterns.append(f"~{_NAMESPACE}:sessions:*")
    return " ".join(patterns)


def _commands(access: KeyAccess) -> Sequence[str]:
    wanted = list(_CONNECTING)
    wanted += _CHECKPOINT_COMMANDS if access.checkpoints else ()
    wanted += _WRITE_SESSIONS if access.writes_sessions else ()
    wanted += _READ_SESSIONS if access.reads_sessions else ()
    return list(dict.fromkeys(wanted))


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """`pyroclast acls kafka|redis`."""
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

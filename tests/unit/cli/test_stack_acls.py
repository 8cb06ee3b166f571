"""The stack's own servers with a user per service: the rules are those of `pyroclast acls`, the logins are apart."""

from pathlib import Path

import pytest

from vc.cli.pyroclast.acls import kafka_commands, kafka_script, user_of
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.acls import (
    VARIABLE,
    AuthorizingKafka,
    AuthorizingRedis,
    acls_in,
    acls_wanted,
    login_of,
)
from vc.cli.pyroclast.stack.plan import Addresses, environment_of
from vc.messages.access import SNAPSHOTS, access_of

WRITE, TOPIC = 4, 2


def test_every_command_of_the_script_becomes_rules() -> None:
    rules = list(acls_in(kafka_script(prefix="a.")))
    assert {rule.principal for rule in rules} == {f"User:{user_of(s)}" for s in SERVICES}
    written = {
        rule.resource_name
        for rule in rules
        if rule.principal == "User:vc-scheduler" and (rule.resource_type, rule.operation) == (TOPIC, WRITE)
    }  # fmt: skip
    assert written == {f"a.{topic}" for topic in access_of("scheduler").writes}
    assert len(rules) > len(kafka_commands())


def test_an_option_that_we_do_not_write_is_refused() -> None:
    with pytest.raises(ValueError, match="--deny-principal"):
        list(acls_in("acl --deny-principal User:x --operation Read --topic t"))


def test_acls_are_on_or_off() -> None:
    assert [acls_wanted({}), acls_wanted({VARIABLE: "off"}), acls_wanted({VARIABLE: "on"})] == [
        False,
        False,
        True,
    ]
    with pytest.raises(ValueError, match="write on or off"):
        acls_wanted({VARIABLE: "yes"})


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_its_own_user_at_both_servers(service: str, tmp_path: Path) -> None:
    kafka = AuthorizingKafka(folder=tmp_path / "kafka")
    redis = AuthorizingRedis(folder=tmp_path / "redis")
    logins = {name: login_of(name, kafka=kafka, redis=redis) for name in SERVICES}
    addresses = Addresses(
        kafka=kafka.bootstrap_servers, redis=redis.url, kubeconfig="/k", logins=logins
    )
    env = environment_of(service, addresses, health_port=1, inherited={})
    assert env["KAFKA_SASL_USERNAME"] == user_of(service)
    assert env["KAFKA_SASL_PASSWORD"] == kafka.passwords[service]
    assert kafka.password not in env.values(), "the administrator's"
    assert redis.password not in env.get("REDIS_URL", "")
    wanted = redis.url_of(service) if service in SNAPSHOTS else None
    assert env.get("REDIS_URL") == wanted

"""Every service is told what it needs, and nothing else."""

import pytest

from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.plan import Addresses, command_of, environment_of, keys_of

ADDRESSES = Addresses(
    kafka="127.0.0.1:9092",
    redis="redis://:secret@127.0.0.1:6379/0",
    kubeconfig="/home/kubeconfig",
    otlp="http://127.0.0.1:4318",
    dashboard_port=8080,
    admission_port=8443,
    admission_url="https://192.0.2.10:8443",
    vetted=True,
)
CALLER = {
    "PATH": "/bin",
    "HOME": "/home",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "REDIS_URL": "redis://another",
    "KAFKA_SASL_PASSWORD": "password",
    "WATCHER_PAGE_SIZE": "100",
    "LOG_LEVEL": "debug",
    "ADMISSION_FAILURE_POLICY": "Fail",
    "ADMISSION_ACCOUNTS": "system:serviceaccount:volcano-system:vc-scheduler",
}


def told(service: str) -> dict[str, str]:
    return environment_of(service, ADDRESSES, health_port=1234, inherited=CALLER)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_told_every_key_that_it_needs(service: str) -> None:
    assert keys_of(service) <= set(told(service))
    assert told(service)["HEALTH_PORT"] == "1234"


@pytest.mark.parametrize("service", SERVICES)
def test_secrets_of_the_caller_stay_with_the_caller(service: str) -> None:
    assert "AWS_SECRET_ACCESS_KEY" not in told(service)


@pytest.mark.parametrize("service", SERVICES)
def test_only_those_who_use_redis_know_where_it_is(service: str) -> None:
    given = told(service).get("REDIS_URL")
    users = {"scheduler", "dashboard", "usage-ledger"}
    assert given == (ADDRESSES.redis if service in users else None)


def test_a_service_keeps_its_own_settings_and_how_to_log_in_to_kafka() -> None:
    assert told("watcher")["WATCHER_PAGE_SIZE"] == "100"
    assert "WATCHER_PAGE_SIZE" not in told("scheduler")
    assert told("scheduler")["KAFKA_SASL_PASSWORD"] == "password"
    assert told("scheduler")["LOG_LEVEL"] == "debug"


def test_one_setting_says_to_all_whose_pods_are_ours() -> None:
    asking = [service for service in SERVICES if "SCHEDULER_NAMES" in keys_of(service)]
    assert asking == [
        "job-controller",
        "podgroup-controller",
        "usage-ledger",
        "scheduler",
        "dashboard",
    ]
    for given, wanted in (({}, "volcano"), ({"SCHEDULER_NAMES": "one, two"}, "one,two")):
        envs = {
            service: environment_of(service, ADDRESSES, health_port=1, inherited=given)
            for service in (*asking, "admission", "watcher")
        }
        assert [envs[service]["SCHEDULER_NAMES"] for service in asking] == [wanted] * len(asking)
        assert envs["admission"]["ADMISSION_SCHEDULER_NAMES"] == wanted
        assert "SCHEDULER_NAMES" not in envs["watcher"]
    own = {"SCHEDULER_NAMES": "one", "ADMISSION_SCHEDULER_NAMES": "one,two"}
    env = environment_of("admission", ADDRESSES, health_port=1, inherited=own)
    assert env["ADMISSION_SCHEDULER_NAMES"] == "one,two"


def test_the_dashboard_alone_is_told_to_listen_elsewhere() -> None:
    addresses = Addresses(kafka="k", redis="r", kubeconfig="c", dashboard_host="192.0.2.7")
    dashboard = environment_of("dashboard", addresses, health_port=1, inherited={})
    assert dashboard["DASHBOARD_HOST"] == "192.0.2.7"
    admission = environment_of("admission", addresses, health_port=1, inherited={})
    assert admission["ADMISSION_HOST"] == "127.0.0.1"
    assert told("dashboard")["DASHBOARD_HOST"] == "127.0.0.1"


def test_without_traces_nobody_is_told_where_to_send_them() -> None:
    addresses = Addresses(kafka="k", redis="r", kubeconfig="c")
    env = environment_of("watcher", addresses, health_port=1, inherited={})
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in env


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_runs_alone_in_its_process(service: str) -> None:
    assert command_of(service)[1:] == ["-m", SERVICES[service]]


def test_who_has_an_account_uses_it_and_admission_makes_nothing() -> None:
    addresses = Addresses(
        kafka="k", redis="r", kubeconfig="admin", accounts={"admission": "own"}, admission_port=1
    )
    env = environment_of("admission", addresses, health_port=1, inherited={})
    assert env["KUBECONFIG"] == "own"
    assert "ADMISSION_CREATE_CONFIGURATIONS" not in env
    assert (
        environment_of("watcher", addresses, health_port=1, inherited={})["KUBECONFIG"] == "admin"
    )

"""docker-compose.yml and `pyroclast stack` are the same stack, and the containers are locked down."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.compose_services import FILE, written
from vc.admission.config import Config as AdmissionConfig
from vc.admission.registration import ANSWER_SECONDS_MAX, WITHDRAW_SECONDS_MAX
from vc.admission.server import SHUTDOWN_SECONDS_MAX
from vc.cli.pyroclast.services import SERVICES, program_of
from vc.cli.pyroclast.stack.plan import SNAPSHOT_SERVICES, keys_of
from vc.cli.pyroclast.stack.stack import DASHBOARD_SERVICE
from vc.parts.fetch.catalogue import PARTS
from vc.parts.servers.kafka import MESSAGE_BYTES_MAX
from vc.runtime.hosting.host import STOP_SECONDS_MAX

ROOT = Path(__file__).parents[2]
SERVERS = {"kafka", "redis", "jaeger"}
WITHOUT_HEALTHCHECK = {"jaeger"}
"""Its image has no program to ask it with."""
WRITES_ITS_ROOT = {"kafka"}
"""Its image writes its configuration beside its code when it starts."""
PINNED = re.compile(r"^[\w./-]+:v?\d+\.\d+(\.\d+)?(-[\w.-]+)?$")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def containers() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


_INNERMOST = re.compile(r"\$\{(\w+)(?::([-+])([^${}]*))?\}")


def interpolated(text: str, env: Mapping[str, str]) -> str:
    """As compose does it: `${A}`, `${A:-default}`, `${A:+instead}`, nested."""

    def value(match: re.Match[str]) -> str:
        name, operator, word = match.groups()
        there = env.get(name, "")
        return (word if there else "") if operator == "+" else there or word or ""

    while (after := _INNERMOST.sub(value, text)) != text:
        text = after
    assert "$" not in text
    return text


def admission_told(env: Mapping[str, str]) -> AdmissionConfig:
    told = containers()["admission"]["environment"]
    return AdmissionConfig.from_env({key: interpolated(told[key], env) for key in told})


def dockerfile() -> str:
    return (ROOT / "deploy/Dockerfile").read_text()


def test_the_services_are_written_from_the_table_of_services() -> None:
    assert FILE.read_text() == written(), "run `make compose`"


def test_compose_runs_what_the_stack_runs_and_nothing_else() -> None:
    assert set(containers()) == set(SERVICES) | SERVERS | {"simcluster"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_told_the_same_keys_in_both(service: str) -> None:
    assert set(containers()[service]["environment"]) == keys_of(service)


def test_all_who_ask_whose_pods_are_ours_are_told_the_same() -> None:
    """Who was not told would decide, charge, group or try pods by another name than the scheduler."""
    told = {
        service: container["environment"][key]
        for service, container in containers().items()
        if service in SERVICES
        for key in container["environment"]
        if key.endswith("SCHEDULER_NAMES")
    }
    asking = {
        service
        for service in SERVICES
        if any(v.name.endswith("SCHEDULER_NAMES") for v in program_of(service).variables)
    }
    assert set(told) == asking
    assert {"scheduler", "dashboard"} < asking
    assert set(told.values()) == {"${SCHEDULER_NAMES:-volcano}"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_an_image_of_its_own_from_the_one_dockerfile(service: str) -> None:
    container = containers()[service]
    assert container["image"] == f"vc-{service}"
    assert container["build"]["dockerfile"] == "deploy/Dockerfile"
    assert container["build"]["args"] == {"SERVICE": service}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_waits_for_what_it_talks_to(service: str) -> None:
    needs = containers()[service]["depends_on"]
    healthy = {name for name, need in needs.items() if need["condition"] == "service_healthy"}
    wanted = {"kafka", "simcluster"} | ({"redis"} if service in SNAPSHOT_SERVICES else set())
    assert healthy == wanted


@pytest.mark.parametrize("name", sorted(set(SERVICES) | SERVERS | {"simcluster"}))
def test_a_container_is_locked_down(name: str) -> None:
    container = containers()[name]
    user = container["user"].replace("${PYROCLAST_UID:-10001}", "10001")
    assert int(user.split(":")[0]) > 0
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert container["mem_limit"]
    assert container.get("read_only", False) is (name not in WRITES_ITS_ROOT)
    assert "privileged" not in container
    for port in container.get("ports", []):
        shown = interpolated(port, {})
        assert shown.startswith("127.0.0.1:"), f"{name} is published beyond loopback"


@pytest.mark.parametrize(
    "name", sorted((set(SERVICES) | SERVERS | {"simcluster"}) - WITHOUT_HEALTHCHECK)
)
def test_a_container_says_whether_it_is_healthy(name: str) -> None:
    check = containers()[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert check["interval"]
    assert check["timeout"]
    assert check["retries"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_asked_on_its_own_health_port(service: str) -> None:
    container = containers()[service]
    assert (
        f":{container['environment']['HEALTH_PORT']}/readyz" in container["healthcheck"]["test"][-1]
    )


@pytest.mark.parametrize("name", sorted(SERVERS))
def test_images_of_others_are_pinned(name: str) -> None:
    assert PINNED.match(containers()[name]["image"])


def test_kafka_is_the_version_and_has_the_limits_that_the_tests_use() -> None:
    kafka = containers()["kafka"]
    assert kafka["image"].rpartition(":")[2] == PARTS["kafka"].version
    assert kafka["environment"]["KAFKA_MESSAGE_MAX_BYTES"] == str(MESSAGE_BYTES_MAX)
    assert kafka["environment"]["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"


def test_the_service_proxy_leads_to_the_dashboard() -> None:
    dashboard = containers()["dashboard"]
    url = f"http://dashboard:{dashboard['environment']['PYROCLAST_DASHBOARD_PORT']}"
    assert f"--service={DASHBOARD_SERVICE}={url}" in containers()["simcluster"]["command"]


def test_the_kubeconfig_of_the_containers_leads_to_the_embedded_cluster() -> None:
    file = compose()["configs"]["kubeconfig"]["file"]
    assert file == "${KUBECONFIG_FILE:-./deploy/compose.kubeconfig}"
    kubeconfig = yaml.safe_load((ROOT / "deploy/compose.kubeconfig").read_text())
    (cluster,) = kubeconfig["clusters"]
    assert cluster["cluster"]["server"] == "http://simcluster:8001"
    assert "--port=8001" in containers()["simcluster"]["command"]


def test_the_embedded_cluster_asks_admission_and_refuses_what_it_cannot_ask_about() -> None:
    told = admission_told({})
    assert told.create_configurations
    assert (told.url, told.own_failure_policy) == ("", "Fail")


def test_a_users_cluster_gets_no_webhooks_that_it_cannot_reach() -> None:
    told = admission_told({"KUBECONFIG_FILE": "/home/me/.kube/config"})
    assert told.create_configurations
    assert not told.is_reachable


def test_a_users_cluster_gets_webhooks_by_the_address_that_the_user_gives() -> None:
    given = {
        "KUBECONFIG_FILE": "/home/me/.kube/config",
        "ADMISSION_URL": "https://192.0.2.10:8443",
        "ADMISSION_PUBLISH": "192.0.2.10:8443",
    }
    told = admission_told(given)
    assert told.url == "https://192.0.2.10:8443"
    assert told.withdraws, "nothing would delete them when the stack goes down"
    assert told.own_failure_policy == "Ignore"
    assert admission_told(given | {"ADMISSION_FAILURE_POLICY": "Fail"}).own_failure_policy == "Fail"
    (port,) = containers()["admission"]["ports"]
    assert interpolated(port, given) == f"192.0.2.10:8443:{told.port}"


def test_admission_is_given_the_time_to_take_its_webhooks_away() -> None:
    """`docker compose down` sends SIGTERM, and kills when this is over."""
    assert ANSWER_SECONDS_MAX < WITHDRAW_SECONDS_MAX
    assert STOP_SECONDS_MAX >= SHUTDOWN_SECONDS_MAX + WITHDRAW_SECONDS_MAX
    grace = containers()["admission"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > STOP_SECONDS_MAX


def test_the_dockerfile_builds_in_stages_on_a_pinned_slim_image_and_runs_without_root() -> None:
    text = dockerfile()
    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.\d+\.\d+-slim-\w+$", text, re.MULTILINE)
    assert len(re.findall(r"^FROM ", text, re.MULTILINE)) == 2
    assert re.search(r"^ARG SERVICE=", text, re.MULTILINE)
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", text, re.MULTILINE)


def test_the_build_context_holds_all_that_the_dockerfile_copies() -> None:
    allowed = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile(), re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert set(copied) == allowed
    assert all((ROOT / source).exists() for source in copied)

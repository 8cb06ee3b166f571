"""On a cluster that outlives admission: nothing it cannot reach is registered, and nothing stays."""

import socket
from collections.abc import AsyncIterator

import pytest

from tests.unit.admission.objects import job, queue
from tests.unit.admission.rig import Rig
from vc.admission.config import UNREACHABLE, Config
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.webhook_configurations import (
    BY_ADDRESS,
    CONFIGURATIONS,
    client_service,
    client_url,
    configuration,
    is_by_address,
)
from vc.cluster import NotFoundError
from vc.model.api.kinds import JOBS, NAMESPACES, QUEUES
from vc.model.api.struct import JsonObject

NAME = "volcano-admission"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    for name in ("volcano-system", "ml"):
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await made.cluster.create(NAMESPACES, space)
    await made.cluster.create(QUEUES, queue("default"))
    yield made
    await made.webhooks.close()


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def found(rig: Rig) -> list[JsonObject]:
    there = []
    for kind in CONFIGURATIONS:
        try:
            there.append(await rig.cluster.get(kind, name=NAME))
        except NotFoundError:
            continue
    return there


def policies(configurations: list[JsonObject]) -> set[str]:
    return {webhook["failurePolicy"] for each in configurations for webhook in each["webhooks"]}


async def left_behind(rig: Rig, *, url: str, policy: str = "Fail") -> None:
    """As an earlier process was killed, or an earlier release stopped."""
    clients = {e.path: client_url(url, e) for e in ENDPOINTS}
    for kind in CONFIGURATIONS:
        body = configuration(
            kind, name=NAME, clients=clients, scheduler_names=("volcano",), failure_policy=policy
        )
        await rig.cluster.create(kind, body)


async def charts(rig: Rig) -> list[JsonObject]:
    clients = {e.path: client_service("svc", "volcano-system", e) for e in ENDPOINTS}
    for kind in CONFIGURATIONS:
        body = configuration(kind, name=NAME, clients=clients, scheduler_names=("volcano",))
        await rig.cluster.create(kind, body)
    return await found(rig)


async def test_a_cluster_that_cannot_reach_us_gets_no_webhooks_and_loses_those_of_the_past(
    rig: Rig,
) -> None:
    await left_behind(rig, url="https://admission:8443")
    async with rig.admission(url=UNREACHABLE) as service:
        assert service.unready() == ""
        assert await found(rig) == []
        await rig.cluster.create(JOBS, job(), namespace="ml")
    assert await found(rig) == []


async def test_an_address_that_was_given_is_registered_to_be_ignored_and_goes_with_us(
    rig: Rig, port: int
) -> None:
    url = f"https://127.0.0.1:{port}"
    async with rig.admission(url=url, port=port):
        there = await found(rig)
        assert len(there) == 2
        assert all(is_by_address(each, url=url) for each in there)
        assert all(BY_ADDRESS.items() <= each["metadata"]["labels"].items() for each in there)
        assert policies(there) == {"Ignore"}
        made = await rig.cluster.create(JOBS, job(minAvailable=0), namespace="ml")
        assert made["spec"]["minAvailable"] == 2
    assert await found(rig) == []
    await rig.cluster.create(JOBS, job("later"), namespace="ml")


async def test_who_asks_for_fail_gets_it_and_it_goes_with_us_too(rig: Rig, port: int) -> None:
    url = f"https://127.0.0.1:{port}"
    async with rig.admission(url=url, failure_policy="Fail", port=port):
        assert policies(await found(rig)) == {"Fail", "Ignore"}  # pods are always ignored
    assert await found(rig) == []


async def test_only_the_last_replica_takes_the_webhooks_away(rig: Rig, port: int) -> None:
    url = f"https://127.0.0.1:{port}"
    async with rig.admission(url=url, port=port):
        before = await found(rig)
        async with rig.admission(url=url):
            assert len(before) == 2
        after = await found(rig)
        assert [each["metadata"]["uid"] for each in after] == [
            each["metadata"]["uid"] for each in before
        ]
    assert await found(rig) == []


async def test_what_a_killed_process_left_is_taken_over_and_goes(rig: Rig, port: int) -> None:
    await left_behind(rig, url="https://192.0.2.1:8443", policy="Ignore")
    url = f"https://127.0.0.1:{port}"
    async with rig.admission(url=url, port=port):
        assert all(is_by_address(each, url=url) for each in await found(rig))
    assert await found(rig) == []


@pytest.mark.parametrize("url", [UNREACHABLE, "https://127.0.0.1:{port}", ""])
async def test_what_a_chart_owns_is_neither_changed_nor_deleted(
    rig: Rig, port: int, url: str
) -> None:
    owned = await charts(rig)
    async with rig.admission(url=url.format(port=port), port=port):
        assert await found(rig) == owned
    assert await found(rig) == owned


CREATE = {"ADMISSION_CREATE_CONFIGURATIONS": "true"}


def test_the_failure_policy_follows_whose_cluster_it_is() -> None:
    own = Config.from_env(CREATE)
    assert (own.own_failure_policy, own.withdraws) == ("Fail", False)
    elsewhere = Config.from_env({**CREATE, "ADMISSION_URL": "https://10.0.0.1:8443/"})
    assert elsewhere.url == "https://10.0.0.1:8443"
    assert (elsewhere.own_failure_policy, elsewhere.withdraws) == ("Ignore", True)
    chart = Config.from_env({})
    assert (chart.create_configurations, chart.withdraws) == (False, False)


@pytest.mark.parametrize(
    ("env", "what"),
    [
        ({**CREATE, "ADMISSION_URL": "http://10.0.0.1"}, "write https://HOST:PORT"),
        ({**CREATE, "ADMISSION_URL": "https://"}, "write https://HOST:PORT"),
        ({**CREATE, "ADMISSION_URL": "https://h:99999"}, "write https://HOST:PORT"),
        ({**CREATE, "ADMISSION_URL": "https://[::1"}, "write https://HOST:PORT"),
        ({**CREATE, "ADMISSION_URL": "https://u:p@h:1"}, "write https://HOST:PORT"),
        ({**CREATE, "ADMISSION_URL": "https://h:1?x=y"}, "write https://HOST:PORT"),
        ({**CREATE, "ADMISSION_FAILURE_POLICY": "fail"}, "write Fail or Ignore"),
        ({"ADMISSION_URL": "https://h:1"}, "set ADMISSION_CREATE_CONFIGURATIONS=true"),
        ({"ADMISSION_FAILURE_POLICY": "Fail"}, "set ADMISSION_CREATE_CONFIGURATIONS=true"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(env: dict[str, str], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Config.from_env(env)

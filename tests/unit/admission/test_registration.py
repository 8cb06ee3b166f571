"""Our webhook configurations: trusted, complete, and asking only where we have something to say."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from prometheus_client import generate_latest

from tests.unit.admission.rig import Rig
from tests.unit.admission.test_service import pod
from vc.admission.config import Config
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.pod_conditions import (
    EXPRESSION_CHARACTERS_MAX,
    STEERED,
    steering_condition,
)
from vc.admission.logic.webhook.webhook_configurations import (
    CONFIGURATIONS,
    MUTATING,
    VALIDATING,
    client_service,
    configuration,
)
from vc.admission.registration import Registration
from vc.admission.world_source import WorldSource
from vc.cluster import NotFoundError
from vc.model.api.keys import QUEUE_ALLOCATION_GATE
from vc.model.api.kinds import CONFIGMAPS, NAMESPACES, PODS
from vc.model.api.struct import JsonObject
from vc.simcluster.webhooks.match_conditions import holds
from vc.validation.resource_groups import GroupObject, ResourceGroup

NAME = "volcano-admission"
BUNDLE = b"pem"
SECONDS_MAX = 15


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    for name in ("volcano-system", "ml", "gpu"):
        await made.cluster.create(NAMESPACES, namespace_of(name))
    yield made
    await made.webhooks.close()


def namespace_of(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def registration(rig: Rig) -> Registration:
    context = rig.context("admission")
    return Registration(context, Config(), WorldSource(context, Config()), port=lambda: 1)


async def test_the_authority_goes_into_the_charts_configurations(rig: Rig) -> None:
    replica = registration(rig)
    assert await replica.restore(BUNDLE) == [
        f"MutatingWebhookConfiguration {NAME}",
        f"ValidatingWebhookConfiguration {NAME}",
    ]
    clients = {e.path: client_service("svc", "volcano-system", e) for e in ENDPOINTS}
    for kind in CONFIGURATIONS:
        body = configuration(kind, name=NAME, clients=clients, scheduler_names=("volcano",))
        await rig.cluster.create(kind, body)
    assert await replica.restore(BUNDLE) == []
    found = await rig.cluster.get(VALIDATING, name=NAME)
    assert all(webhook["clientConfig"]["caBundle"] for webhook in found["webhooks"])
    assert found["webhooks"][0]["clientConfig"]["service"]["name"] == "svc"
    await replica.restore(BUNDLE)
    again = await rig.cluster.get(VALIDATING, name=NAME)
    assert again["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]


# -- whom we are asked about -----------------------------------------------------------------------


def group(key: str, *values: str, name: str = "") -> ResourceGroup:
    return ResourceGroup(
        resource_group=name, object=GroupObject(key=key, value=list(values)), labels={"a": "b"}
    )


CASES = [
    ("no pod without groups and gate", (), False, {}, "ml", False),
    ("a namespace that is listed", (group("namespace", "ml", "x"),), False, {}, "ml", True),
    ("another namespace", (group("namespace", "x"),), False, {}, "ml", False),
    ("an annotation that is listed", (group("annotation", "k: v"),), False, {"k": "v"}, "ml", True),
    ("another value of it", (group("annotation", "k: v"),), False, {"k": "w"}, "ml", False),
    ("no annotations at all", (group("annotation", "k: v"),), False, {}, "ml", False),
    ("a group by its name", (group("", name="g"),), False, {"volcano.sh/resource-group": "g"}, "ml", True),
    ("a gate that may be asked for", (), True, {QUEUE_ALLOCATION_GATE: "true"}, "ml", True),
    ("a gate that is not enabled", (), False, {QUEUE_ALLOCATION_GATE: "true"}, "ml", False),
    ("a quote in a value", (group("annotation", 'k: a"b'),), False, {"k": 'a"b'}, "ml", True),
    ("more groups than are worth it", tuple(group("annotation", f"key-{n}: v") for n in range(100)), False, {}, "ml", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "gate", "annotations", "namespace", "asked"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_the_api_server_asks_about(
    groups: tuple[ResourceGroup, ...],
    gate: bool,
    annotations: dict[str, str],
    namespace: str,
    asked: bool,
) -> None:
    condition = steering_condition(groups, gate=gate)
    assert len(condition["expression"]) <= EXPRESSION_CHARACTERS_MAX
    made = {"metadata": {"annotations": annotations} if annotations else {}}
    variables = {"object": made, "request": {"namespace": namespace}}
    assert holds(condition["expression"], variables) is asked


async def steering(rig: Rig) -> list[str]:
    found = await rig.cluster.get(MUTATING, name=NAME)
    (webhook,) = [w for w in found["webhooks"] if w["name"] == "mutatepod.volcano.sh"]
    return [c["expression"] for c in webhook["matchConditions"] if c["name"] == STEERED]


async def becomes(rig: Rig, *expressions: str) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while await steering(rig) != [*expressions]:  # noqa: ASYNC110 - a cluster has no event
            await asyncio.sleep(0.05)


def reviews(text: str) -> list[str]:
    return [
        line
        for line in text.splitlines()
        if line.startswith("pyroclast_admission_reviews_total") and "pods" in line
    ]


async def test_pods_are_sent_only_while_there_are_groups_that_match(rig: Rig) -> None:
    async with rig.watcher(), rig.admission() as service:
        await becomes(rig, "false")
        await rig.cluster.create(
            PODS, {**pod("volcano"), "metadata": {"name": "a"}}, namespace="ml"
        )
        page = generate_latest(service.metrics).decode()
        assert reviews(page) == []
        text = "resourceGroups:\n- object: {key: namespace, value: [gpu]}\n  labels: {pool: gpu}\n"
        await rig.cluster.create(
            CONFIGMAPS,
            {"apiVersion": "v1", "kind": "ConfigMap",
             "metadata": {"name": "volcano-admission-configmap"},
             "data": {"volcano-admission.conf": text}},
            namespace="volcano-system",
        )  # fmt: skip
        await becomes(rig, 'request.namespace in ["gpu"]')
        plain = {**pod("volcano"), "metadata": {"name": "b"}}
        other = await rig.cluster.create(PODS, plain, namespace="ml")
        steered = await rig.cluster.create(PODS, plain, namespace="gpu")
        assert "nodeSelector" not in other["spec"]
        assert steered["spec"]["nodeSelector"] == {"pool": "gpu"}
        (line,) = reviews(generate_latest(service.metrics).decode())
        assert 'answer="allowed",path="/pods/mutate"} 1.0' in line


async def test_configurations_that_vanish_are_back_within_seconds(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vc.admission.registration.CHECK_SECONDS", 0.2)
    async with rig.admission():
        for kind in CONFIGURATIONS:
            await rig.cluster.delete(kind, name=NAME)
        async with asyncio.timeout(SECONDS_MAX):
            while not await trusted(rig):  # noqa: ASYNC110 - a cluster has no event to wait for
                await asyncio.sleep(0.05)


async def trusted(rig: Rig) -> bool:
    try:
        found = [await rig.cluster.get(kind, name=NAME) for kind in CONFIGURATIONS]
    except NotFoundError:
        return False
    return all(w["clientConfig"]["caBundle"] for each in found for w in each["webhooks"])

"""What a tenant writes into objects that are half ours, on the embedded API server with webhooks."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.unit.admission.objects import job, queue, task, template
from tests.unit.admission.rig import Rig, until
from vc.cluster import ForbiddenError
from vc.model.api.kinds import (
    ACCESS_REVIEWS,
    COMMANDS,
    JOBS,
    NAMESPACES,
    PODGROUPS,
    PODS,
    QUEUES,
    QUOTAS,
    Kind,
)
from vc.model.api.kubernetes import ResourceQuota
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat
from vc.simcluster.cluster import StoreCluster
from vc.validation.world import Settings

SCHEDULER = "system:serviceaccount:volcano-system:volcano-scheduler"
DONE = '{"worker":"0-99"}'
FORGED = {
    "phase": "Inqueue",
    "conditions": [
        {"type": "Unschedulable", "status": "True", "transitionID": "x", "reason": "NotEnoughTasks",
         "message": "", "lastTransitionTime": "9999-12-31T23:59:59Z"}
    ],
}  # fmt: skip


@pytest.fixture(params=list(Compat), ids=lambda compat: compat.value)
def settings(request: pytest.FixtureRequest) -> Settings:
    """What tenants may do is the same in upstream mode."""
    return Settings(accounts=(SCHEDULER,), compat=request.param)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    for name, labels in (("ml", {"team": "a"}), ("other", {"team": "b"}), ("volcano-system", {})):
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": labels},
        }
        await made.cluster.create(NAMESPACES, body)
    await made.cluster.create(QUEUES, queue("default"))
    yield made
    await made.webhooks.close()


def as_user(rig: Rig, name: str = "alice") -> StoreCluster:
    return StoreCluster(rig.api, user=name)


def group(name: str = "g", *, notes: JsonObject | None = None, **spec: object) -> JsonObject:
    return {
        "apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind,
        "metadata": {"name": name, "annotations": notes or {}},
        "spec": {"minMember": 1, "queue": "default", **spec},
    }  # fmt: skip


async def test_a_tenants_status_and_our_annotations_are_restored(
    rig: Rig, settings: Settings
) -> None:
    alice, ours = as_user(rig), as_user(rig, SCHEDULER)
    async with rig.admission(settings=settings):
        notes = {"volcano.sh/job-version": "7", "volcano.sh/completed-members": DONE, "mine": "1"}
        written = {**group(notes=notes), "status": FORGED}
        made = await alice.create(PODGROUPS, written, namespace="ml")
        assert "status" not in made, "a new group has none"
        assert made["metadata"]["annotations"] == {"mine": "1"}
        true = {"phase": "Pending"}
        await ours.patch(PODGROUPS, {"status": true}, name="g", namespace="ml")
        noted = {"volcano.sh/job-version": "2", "volcano.sh/completed-members": '{"worker":"0"}'}
        await ours.patch(PODGROUPS, {"metadata": {"annotations": noted}}, name="g", namespace="ml")
        changed = {
            "volcano.sh/job-version": None,
            "volcano.sh/completed-members": DONE,
            "mine": "2",
        }
        forged = {"status": FORGED, "metadata": {"annotations": changed}}
        await alice.patch(PODGROUPS, forged, name="g", namespace="ml")
        known = await alice.get(PODGROUPS, name="g", namespace="ml")
        assert known["status"] == true
        assert known["metadata"]["annotations"] == {"mine": "2", **noted}


async def test_a_group_that_has_started_stays_in_its_queue(rig: Rig, settings: Settings) -> None:
    """In another queue its pods would be out of reach of those who may preempt them."""
    alice, ours = as_user(rig), as_user(rig, SCHEDULER)
    async with rig.admission(settings=settings):
        await alice.create(PODGROUPS, group(), namespace="ml")
        for phase in ("Running", "Unknown"):
            await ours.patch(PODGROUPS, {"status": {"phase": phase}}, name="g", namespace="ml")
            moved = {"spec": {"queue": "root", "minMember": 3}}
            known = await alice.patch(PODGROUPS, moved, name="g", namespace="ml")
            assert known["spec"] == {**known["spec"], "queue": "default", "minMember": 3}


async def test_an_operator_may_put_whole_objects(rig: Rig, settings: Settings) -> None:
    """It read a status that is older by now; its write is taken, the status is not."""
    operator, ours = as_user(rig, "operator"), as_user(rig, SCHEDULER)
    async with rig.admission(settings=settings):
        read = await operator.create(PODGROUPS, group(), namespace="ml")
        wanted = {**read, "spec": {**read["spec"], "minMember": 3}, "status": {"phase": "Running"}}
        put = await operator.replace(PODGROUPS, wanted, namespace="ml")
        assert put["spec"]["minMember"] == 3
        assert "status" not in put
        await ours.patch(PODGROUPS, {"status": {"phase": "Inqueue"}}, name="g", namespace="ml")
        known = await ours.get(PODGROUPS, name="g", namespace="ml")
        assert known["status"] == {"phase": "Inqueue"}


def order(action: str = "CloseQueue", target: str = "default", kind: str = "Queue") -> JsonObject:
    return {
        "apiVersion": COMMANDS.api_version, "kind": COMMANDS.kind, "metadata": {"name": "c"},
        "action": action,
        "target": {"apiVersion": QUEUES.api_version, "kind": kind, "name": target, "uid": "u"},
    }  # fmt: skip


async def test_only_who_may_update_a_queue_orders_it_about(rig: Rig, settings: Settings) -> None:
    alice, administrator = as_user(rig), as_user(rig, "pyroclast-admin")
    async with rig.admission(settings=settings):
        for action in ("CloseQueue", "OpenQueue"):
            with pytest.raises(ForbiddenError, match="'alice' may not update this queue"):
                await alice.create(COMMANDS, order(action), namespace="ml")
        await alice.create(COMMANDS, order("AbortJob", "train", "Job"), namespace="ml")
        with pytest.raises(ForbiddenError, match="may not update this queue"):
            await alice.patch(
                COMMANDS, {"target": {"kind": "Queue", "name": "default"}}, name="c", namespace="ml"
            )
        await administrator.create(COMMANDS, order(), namespace="other")
        await alice.create(COMMANDS, order(), namespace="volcano-system")


async def test_the_access_review_names_this_user_and_this_queue(
    rig: Rig, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that its authorizers look at: a right to another queue or verb is none to this."""
    create, asked = rig.cluster.create, []

    async def answer(kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        if kind is not ACCESS_REVIEWS:
            return await create(kind, body, namespace=namespace)
        asked.append(body["spec"])
        return {**body, "status": {"allowed": body["spec"]["user"] == "alice"}}

    monkeypatch.setattr(rig.cluster, "create", answer)
    async with rig.admission(settings=settings):
        await as_user(rig).create(COMMANDS, order(), namespace="ml")
        with pytest.raises(ForbiddenError, match="'bob' may not update this queue"):
            await as_user(rig, "bob").create(COMMANDS, order(), namespace="other")
    about = {"verb": "update", "group": QUEUES.group, "resource": "queues", "name": "default"}
    assert asked == [
        {"user": user, "groups": ["system:authenticated"], "resourceAttributes": about}
        for user in ("alice", "bob")
    ]


async def test_classes_of_the_system_are_for_its_namespaces(rig: Rig, settings: Settings) -> None:
    alice = as_user(rig)
    critical = "system-cluster-critical"
    async with rig.admission(settings=settings) as service, rig.watcher():
        with pytest.raises(ForbiddenError, match="classes system-"):
            await alice.create(PODGROUPS, group(priorityClassName=critical), namespace="ml")
        with pytest.raises(ForbiddenError, match=r"spec.priorityClassName: .*classes system-"):
            await alice.create(JOBS, job(priorityClassName=critical), namespace="ml")
        inside = task(template=template(priorityClassName=critical))
        with pytest.raises(ForbiddenError, match=r"tasks\[0\].template.spec.priorityClassName"):
            await alice.create(JOBS, job(tasks=[inside]), namespace="ml")
        await alice.create(PODGROUPS, group(), namespace="ml")
        change = {"spec": {"priorityClassName": critical}}
        with pytest.raises(ForbiddenError, match="classes system-"):
            await alice.patch(PODGROUPS, change, name="g", namespace="ml")
        quota = {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "critical"},
            "spec": {"hard": {"pods": "5"}, "scopeSelector": {"matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": [critical, "high"]}]}},
        }  # fmt: skip
        await rig.cluster.create(QUOTAS, quota, namespace="ml")
        await until(
            lambda: service.world_source.follower.view.get(QUOTAS, "ml/critical") is not None
        )
        admitted = group("admitted", priorityClassName=critical)
        await alice.create(PODGROUPS, admitted, namespace="ml")
        none = {"spec": {"hard": {"pods": "0"}}}
        await rig.cluster.patch(QUOTAS, none, name="critical", namespace="ml")
        view = service.world_source.follower.view

        def is_seen() -> bool:
            found = view.get(QUOTAS, "ml/critical")
            return isinstance(found, ResourceQuota) and found.spec.hard == {"pods": "0"}

        await until(is_seen)
        with pytest.raises(ForbiddenError, match="allows no pods in the namespace"):
            await alice.create(PODGROUPS, group("n", priorityClassName="high"), namespace="ml")


def pod(**notes: str) -> JsonObject:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "annotations": notes},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "image": "i"}]},
    }  # fmt: skip


@pytest.mark.parametrize(
    "notes",
    [
        {"volcano.sh/allowed-namespaces": "other, third"},
        {"volcano.sh/allowed-namespace-selector": "team=b"},
        {"volcano.sh/allowed-namespace-selector": "((("},
        {"volcano.sh/allowed-namespaces": ""},
    ],
)
async def test_a_queue_with_an_allow_list_refuses_other_namespaces(
    rig: Rig, settings: Settings, notes: JsonObject
) -> None:
    alice = as_user(rig)
    made = queue("team")
    made["metadata"]["annotations"] = notes
    allows_none = "(((" in str(notes) or not next(iter(notes.values()))
    await rig.cluster.create(QUEUES, made)
    async with rig.admission(settings=settings):
        await alice.create(JOBS, job("free"), namespace="ml")
        for kind, body in (
            (JOBS, job(queue="team")),
            (PODGROUPS, group(queue="team")),
            (PODS, pod(**{"scheduling.volcano.sh/queue-name": "team"})),
        ):
            with pytest.raises(ForbiddenError, match="namespace 'ml' may not use queue 'team'"):
                await alice.create(kind, body, namespace="ml")
        await alice.create(PODGROUPS, group("mover"), namespace="ml")
        with pytest.raises(ForbiddenError, match="may not use queue 'team'"):
            await alice.patch(PODGROUPS, {"spec": {"queue": "team"}}, name="mover", namespace="ml")
        if not allows_none:
            await alice.create(PODGROUPS, group(queue="team"), namespace="other")


async def test_a_list_above_holds_below(rig: Rig, settings: Settings) -> None:
    above = queue("dept")
    above["metadata"]["annotations"] = {"volcano.sh/allowed-namespaces": "other"}
    await rig.cluster.create(QUEUES, above)
    await rig.cluster.create(QUEUES, queue("leaf", parent="dept"))
    async with rig.admission(settings=settings):
        with pytest.raises(ForbiddenError, match="may not use queue 'dept'"):
            await as_user(rig).create(PODGROUPS, group(queue="leaf"), namespace="ml")


async def test_the_verb_use_is_checked_where_it_is_enabled(rig: Rig, settings: Settings) -> None:
    settings = msgspec.structs.replace(settings, queue_use_review=True)
    alice, administrator = as_user(rig), as_user(rig, "pyroclast-admin")
    controller = as_user(rig, "system:serviceaccount:kube-system:replicaset-controller")
    noted = pod(**{"scheduling.volcano.sh/queue-name": "default"})
    async with rig.admission(settings=settings):
        for cluster, kind, body in (
            (alice, JOBS, job()), (alice, PODGROUPS, group()), (alice, PODS, noted),
            (controller, PODS, noted),
        ):  # fmt: skip
            with pytest.raises(ForbiddenError, match="may not use this queue"):
                await cluster.create(kind, body, namespace="ml")
        await administrator.create(JOBS, job(), namespace="ml")
        await as_user(rig, SCHEDULER).create(PODGROUPS, group(), namespace="ml")

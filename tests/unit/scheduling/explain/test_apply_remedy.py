"""What a remedy changes in a cluster: so much and no more, or a simulation would prove too much."""

import msgspec
import pytest

from tests.unit.scheduling.explain.builders import (
    NOW,
    group,
    node,
    pods,
    priority_class,
    queue,
    quota,
    scene,
)
from vc.messages.sessions import Unblock, Where
from vc.model.api.keys import TASK_SPEC
from vc.model.api.kubernetes import (
    PersistentVolume,
    PersistentVolumeClaim,
    ResourceQuota,
    StorageClass,
)
from vc.model.api.meta import ObjectMeta
from vc.model.api.node import Node
from vc.model.api.pod import ClaimReference, Pod, SchedulingGate, Volume
from vc.model.api.scheduling import PodGroup, Queue
from vc.scheduling.explain.apply_remedy import WAIT_SECONDS, apply_remedy
from vc.scheduling.explain.cluster_objects import CannotApplyError
from vc.scheduling.explain.simulation import Scene

JOB = "ns/a"


def the_group(cluster: Scene) -> PodGroup:
    (found,) = [o for o in cluster.objects() if isinstance(o, PodGroup) and o.key == JOB]
    return found


def nodes(cluster: Scene) -> list[Node]:
    return [o for o in cluster.objects() if isinstance(o, Node)]


def all_pods(cluster: Scene) -> list[Pod]:
    return [o for o in cluster.objects() if isinstance(o, Pod)]


def test_all_parts_are_applied() -> None:
    cluster = scene(group("a", 1), queue("x", capability={"cpu": "1"}))
    more = Unblock(action="raise-capability", target="x", amounts={"cpu": 2000})
    apply_remedy(cluster, Unblock(action="add-room", amounts={"cpu": 1}, also=[more]), JOB)
    (found,) = [o for o in cluster.objects() if isinstance(o, Queue)]
    assert found.spec.capability == {"cpu": "3"}
    assert len(nodes(cluster)) == 1


def test_what_is_not_known_cannot_be_applied() -> None:
    with pytest.raises(CannotApplyError, match="pray cannot be simulated"):
        apply_remedy(scene(group("a", 1)), Unblock(action="pray"), JOB)


def test_a_job_moves_to_the_first_queue_and_all_must_exist() -> None:
    cluster = scene(group("a", 1), queue("x"), queue("y"))
    apply_remedy(cluster, Unblock(action="move-job", target="y,x"), JOB)
    assert the_group(cluster).spec.queue == "y"
    with pytest.raises(CannotApplyError):
        apply_remedy(cluster, Unblock(action="move-job", target="x,nowhere"), JOB)


def test_a_quota_is_raised_where_the_scheduler_reads_it() -> None:
    cluster = scene(group("a", 1), quota("q", "ns", "1"))
    remedy = Unblock(action="raise-quota", target="ns/q", amounts={"requests.cpu": 2000})
    apply_remedy(cluster, remedy, JOB)
    (found,) = [o for o in cluster.objects() if isinstance(o, ResourceQuota)]
    assert found.status.hard == found.spec.hard == {"requests.cpu": "3"}


def test_one_node_is_added_for_each_pod() -> None:
    cluster = scene(group("a", 1))
    where = Where(labels={"zone": "b"}, apart=["host"])
    apply_remedy(
        cluster, Unblock(action="add-room", pods=3, amounts={"cpu": 2000}, where=where), JOB
    )
    assert len(nodes(cluster)) == 3
    assert {n.metadata.labels["zone"] for n in nodes(cluster)} == {"b"}
    assert len({n.metadata.labels["host"] for n in nodes(cluster)}) == 3
    assert {str(n.status.allocatable["cpu"]) for n in nodes(cluster)} == {"2"}


def test_nodes_are_added_in_every_domain() -> None:
    cluster = scene(group("a", 1), node("n", 1, {"zone": "a"}), node("m", 1, {"zone": "b"}))
    where = Where(across=["zone"])
    apply_remedy(cluster, Unblock(action="add-room", pods=1, amounts={"cpu": 1}, where=where), JOB)
    new = [n for n in nodes(cluster) if n.metadata.name not in ("n", "m")]
    assert sorted(n.metadata.labels["zone"] for n in new) == ["a", "b"]


def test_a_node_is_enlarged_by_all_the_pods() -> None:
    cluster = scene(group("a", 1), node("n", 1))
    where = Where(node="n")
    remedy = Unblock(action="add-room", pods=3, amounts={"cpu": 2000}, where=where)
    apply_remedy(cluster, remedy, JOB)
    (found,) = nodes(cluster)
    assert found.status.allocatable["cpu"] == found.status.capacity["cpu"] == "7"


def test_only_so_many_gates_are_lifted() -> None:
    gated = [
        msgspec.structs.replace(
            pod,
            spec=msgspec.structs.replace(pod.spec, scheduling_gates=[SchedulingGate(name="wait")]),
        )
        for pod in pods("a", 3)
    ]
    cluster = scene(group("a", 3), gated)
    apply_remedy(cluster, Unblock(action="lift-gates", target="a", pods=2), JOB)
    assert [bool(pod.spec.scheduling_gates) for pod in all_pods(cluster)].count(True) == 1


def test_a_lower_minimum_drops_task_minimums_and_shrinks_the_claim() -> None:
    cluster = scene(group("a", 4, resources={"cpu": "10"}, tasks={"worker": 4}))
    apply_remedy(cluster, Unblock(action="lower-minimum", target=JOB, pods=3), JOB)
    spec = the_group(cluster).spec
    assert (spec.min_member, spec.min_task_member) == (3, {})
    assert spec.min_resources == {"cpu": "7500m"}


def test_a_smaller_request_lowers_the_claim_of_the_waiting_pods_of_its_task() -> None:
    cluster = scene(
        group("a", 2, resources={"cpu": "8"}), pods("a", 2, "3"), pods("a", 1, "2", task="ps")
    )
    remedy = Unblock(action="shrink-request", target="worker", amounts={"cpu": 1000})
    apply_remedy(cluster, remedy, JOB)
    requests = {
        pod.metadata.labels[TASK_SPEC]: pod.spec.containers[0].resources.requests["cpu"]
        for pod in all_pods(cluster)
    }
    assert requests == {"worker": "1", "ps": "2"}
    assert the_group(cluster).spec.min_resources == {"cpu": "4"}


def test_ended_jobs_leave_nothing_behind() -> None:
    cluster = scene(group("a", 1), group("b", 1), pods("b", 2, on="n"), pods("a", 1))
    apply_remedy(cluster, Unblock(action="end-jobs", jobs=["ns/b"]), JOB)
    assert [o.key for o in cluster.objects()] == ["ns/a", "ns/a-worker-0"]


def test_waiting_takes_time_and_terminating_pods_go() -> None:
    terminating = pods("c", 1, on="n")[0]
    metadata = msgspec.structs.replace(
        terminating.metadata, deletion_timestamp="2027-01-15T08:00:00Z"
    )
    cluster = scene(
        group("a", 1), msgspec.structs.replace(terminating, metadata=metadata), pods("b", 1)
    )
    apply_remedy(cluster, Unblock(action="wait"), JOB)
    assert cluster.now == NOW + WAIT_SECONDS
    assert [pod.metadata.deletion_timestamp for pod in all_pods(cluster)] == [None]


def test_priority_is_given_to_the_waiting_pods_alone() -> None:
    cluster = scene(
        group("a", 1), priority_class("high", 9), pods("a", 1), pods("a", 1, on="n", task="ps")
    )
    apply_remedy(cluster, Unblock(action="raise-priority", target="high", priority=9), JOB)
    assert the_group(cluster).spec.priority_class_name == "high"
    assert {pod.metadata.labels[TASK_SPEC]: pod.spec.priority for pod in all_pods(cluster)} == {
        "worker": 9,
        "ps": None,
    }


def storage_class(name: str, mode: str) -> StorageClass:
    return StorageClass(metadata=ObjectMeta(name=name), volume_binding_mode=mode)


@pytest.mark.parametrize(
    ("modes", "storage", "phase"),
    [
        (("Immediate", "WaitForFirstConsumer"), "class-1", "Pending"),
        (("Immediate",), "class-0", "Bound"),
    ],
)
def test_a_new_claim_waits_for_its_consumer_where_a_class_does(
    modes: tuple[str, ...], storage: str, phase: str
) -> None:
    cluster = scene(group("a", 1), [storage_class(f"class-{n}", m) for n, m in enumerate(modes)])
    apply_remedy(cluster, Unblock(action="create-claim", target="ns/data"), JOB)
    (made,) = [o for o in cluster.objects() if isinstance(o, PersistentVolumeClaim)]
    assert (made.spec.storage_class_name, made.status.phase) == (storage, phase)


def using(pod: Pod, claim: str) -> Pod:
    volume = Volume(name="data", persistent_volume_claim=ClaimReference(claim_name=claim))
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, volumes=[volume]))


def test_only_placed_pods_give_a_claim_back() -> None:
    placed, waiting = pods("b", 1, on="n")[0], pods("a", 1)[0]
    cluster = scene(group("a", 1), using(placed, "data"), using(waiting, "data"))
    apply_remedy(cluster, Unblock(action="free-claim", target="ns/data"), JOB)
    assert [pod.key for pod in all_pods(cluster)] == ["ns/a-worker-0"]


def test_a_new_volume_has_the_class_of_its_claim() -> None:
    claim = msgspec.convert(
        {"metadata": {"name": "data", "namespace": "ns"}, "spec": {"storageClassName": "late"}},
        PersistentVolumeClaim,
    )
    cluster = scene(group("a", 1), claim)
    apply_remedy(cluster, Unblock(action="add-volume", target="data"), JOB)
    (made,) = [o for o in cluster.objects() if isinstance(o, PersistentVolume)]
    assert (made.spec.storage_class_name, made.status.phase) == ("late", "Available")


def test_a_field_is_removed_from_every_pod() -> None:
    cluster = scene(group("a", 2), pods("a", 2, selector={"zone": "b"}))
    target = "pod a-worker-0 spec.nodeSelector[zone]"
    apply_remedy(cluster, Unblock(action="remove-field", target=target), JOB)
    assert [pod.spec.node_selector for pod in all_pods(cluster)] == [{}, {}]

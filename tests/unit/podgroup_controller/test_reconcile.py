"""Pod groups of plain pods: names, minimums, queues, and who is left alone."""

import msgspec
import pytest

from vc.messages.effects import CreateObject, DeleteObject, PatchObject
from vc.model.api import keys
from vc.model.api.kubernetes import Workload, WorkloadSpec, WorkloadStatus
from vc.model.api.meta import ObjectMeta, OwnerReference
from vc.model.api.pod import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from vc.model.api.scheduling import PodGroup, PodGroupSpec
from vc.podgroup_controller.logic import REVISION_LABEL, Observed, decide, group_key, group_uid

OURS = frozenset({"volcano"})


def pod(name: str = "p", *, owner: str = "", scheduler: str = "volcano", **annotations: str) -> Pod:
    owners = [
        OwnerReference(
            api_version="apps/v1", kind="ReplicaSet", name="rs", uid=owner, controller=True
        )
    ]
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=f"uid-{name}",
            annotations=dict(annotations),
            owner_references=owners if owner else [],
        ),
        spec=PodSpec(
            scheduler_name=scheduler,
            containers=[Container(resources=ResourceRequirements(requests={"cpu": "2"}))],
        ),
        status=PodStatus(phase="Pending"),
    )


def replicaset(replicas: int = 3, *, notes: dict[str, str] | None = None) -> Workload:
    return Workload(
        api_version="apps/v1",
        kind="ReplicaSet",
        metadata=ObjectMeta(name="rs", namespace="ns", uid="rs-1", annotations=notes or {}),
        spec=WorkloadSpec(replicas=replicas),
    )


def test_a_plain_pod_gets_a_group_of_its_own_and_is_told() -> None:
    create, patch = decide(Observed(pods=(pod(),)))
    assert isinstance(create, CreateObject)
    assert isinstance(patch, PatchObject)
    assert create.name == "podgroup-uid-p"
    assert create.body["metadata"]["ownerReferences"][0]["uid"] == "uid-p"
    assert create.body["spec"] == {"minMember": 1, "minResources": {"cpu": "2"}}
    assert patch.patch["metadata"]["annotations"] == {keys.GROUP_NAME: "podgroup-uid-p"}


def test_pods_of_a_controller_share_a_gang_of_the_size_it_asks_for() -> None:
    owner = replicaset(notes={keys.GROUP_MIN_MEMBER: "3", "volcano.sh/x": "1", "other": "2"})
    pods = (pod("a", owner="rs-1"), pod("b", owner="rs-1", **{keys.QUEUE_NAME_ANNOTATION: "q"}))
    create, *patches = decide(Observed(pods=pods, owner=owner))
    assert isinstance(create, CreateObject)
    assert create.name == "podgroup-rs-1"
    assert create.body["spec"]["minMember"] == 3
    assert create.body["spec"]["minResources"] == {"cpu": "6"}
    assert create.body["metadata"]["annotations"] == {"volcano.sh/x": "1"}
    assert len(patches) == 2


def test_annotations_that_only_our_services_write_are_not_inherited() -> None:
    forged = dict.fromkeys(keys.PODGROUP_ANNOTATIONS, "1")
    owner = replicaset(notes={**forged, "volcano.sh/x": "1"})
    create = decide(Observed(pods=(pod("a", owner="rs-1"),), owner=owner))[0]
    assert isinstance(create, CreateObject)
    assert create.body["metadata"]["annotations"] == {"volcano.sh/x": "1"}


def test_the_queue_and_topology_come_from_the_pod() -> None:
    asked = pod(
        **{
            keys.QUEUE_NAME_ANNOTATION: "q",
            keys.NETWORK_TOPOLOGY_MODE: "soft",
            keys.NETWORK_TOPOLOGY_HIGHEST_TIER: "2",
        }
    )
    create = decide(Observed(pods=(asked,)))[0]
    assert isinstance(create, CreateObject)
    assert create.body["spec"]["queue"] == "q"
    assert create.body["spec"]["networkTopology"] == {"mode": "soft", "highestTierAllowed": 2}


def test_a_group_that_is_right_is_left_alone_and_a_wrong_one_mended() -> None:
    named = pod(owner="rs-1", **{keys.GROUP_NAME: "podgroup-rs-1"})
    right = PodGroup(
        metadata=ObjectMeta(name="podgroup-rs-1", uid="g"),
        spec=PodGroupSpec(min_member=1, queue="default", min_resources={"cpu": "2"}),
    )
    assert decide(Observed(pods=(named,), owner=replicaset(), podgroup=right)) == []
    owner = replicaset(notes={keys.GROUP_MIN_MEMBER: "2"})
    (mended,) = decide(Observed(pods=(named,), owner=owner, podgroup=right))
    assert isinstance(mended, PatchObject)
    assert mended.patch == {"spec": {"minMember": 2, "minResources": {"cpu": "4"}}}


def test_a_workload_scaled_to_nothing_gives_its_group_up() -> None:
    held = PodGroup(
        metadata=ObjectMeta(
            name="podgroup-rs-1",
            uid="g",
            owner_references=pod(owner="rs-1").metadata.owner_references,
        )
    )
    (gone,) = decide(Observed(pods=(), owner=replicaset(0), podgroup=held))
    assert isinstance(gone, DeleteObject)
    assert gone.uid == "g"


def forged(name: str, **reference: str) -> Pod:
    """A pod whose controller reference has the uid of the replica set, and is to something else."""
    plain = pod(name, owner="rs-1", **{keys.QUEUE_NAME_ANNOTATION: "forged"})
    (owner,) = plain.metadata.owner_references
    owners = [msgspec.structs.replace(owner, **reference)]
    return msgspec.structs.replace(
        plain, metadata=msgspec.structs.replace(plain.metadata, owner_references=owners)
    )


@pytest.mark.parametrize("reference", [{"kind": "Job"}, {"api_version": "example.com/v1"}])
def test_a_reference_that_has_only_the_uid_of_a_workload_is_not_its(
    reference: dict[str, str],
) -> None:
    first = forged("a", **reference)
    create, patch = decide(Observed(pods=(first, pod("b", owner="rs-1")), owner=replicaset()))
    assert isinstance(create, CreateObject)
    assert isinstance(patch, PatchObject)
    assert create.body["spec"].get("queue", "") == "", "it names no queue"
    assert patch.name == "b"
    theirs = PodGroup(
        metadata=ObjectMeta(
            name="podgroup-rs-1", uid="g", owner_references=first.metadata.owner_references
        )
    )
    assert decide(Observed(pods=(), owner=replicaset(0), podgroup=theirs)) == []


def test_who_is_ours_to_group() -> None:
    assert group_uid(pod(), OURS) == "uid-p"
    assert group_uid(pod(owner="rs-1"), OURS) == "rs-1"
    assert group_uid(pod(scheduler="default-scheduler"), OURS) == ""
    assert group_uid(pod(**{keys.GROUP_NAME: "another"}), OURS) == ""
    assert group_uid(pod(**{keys.GROUP_NAME_ALTERNATIVE: "another"}), OURS) == ""


def test_a_reference_into_another_namespace_concerns_nobody_there() -> None:
    mine = pod("a", owner="rs-1")
    there = msgspec.structs.replace(mine.metadata, namespace="another")
    keys_of = [
        group_key(each, OURS)
        for each in (mine, replicaset(), msgspec.structs.replace(mine, metadata=there))
    ]
    assert keys_of == ["ns/rs-1", "ns/rs-1", "another/rs-1"]


def test_finished_and_going_pods_need_no_group() -> None:
    done = msgspec.structs.replace(pod(), status=PodStatus(phase="Succeeded"))
    assert decide(Observed(pods=(done,))) == []


def _statefulset(revision: str) -> Workload:
    return Workload(
        api_version="apps/v1",
        kind="ReplicaSet",
        metadata=ObjectMeta(name="rs", namespace="ns", uid="rs-1"),
        spec=WorkloadSpec(replicas=3),
        status=WorkloadStatus(update_revision=revision),
    )


def _of_revision(name: str, revision: str, cpu: str) -> Pod:
    plain = pod(name, owner="rs-1")
    container = Container(resources=ResourceRequirements(requests={"cpu": cpu}))
    return msgspec.structs.replace(
        plain,
        metadata=msgspec.structs.replace(plain.metadata, labels={REVISION_LABEL: revision}),
        spec=msgspec.structs.replace(plain.spec, containers=[container]),
    )


def test_a_stateful_set_that_is_rolled_over_is_judged_by_its_new_pods() -> None:
    """Pods are replaced from the last to the first, so the first ones are old the longest."""
    pods = (_of_revision("web-0", "old", "1"), _of_revision("web-1", "new", "4"))
    create, *_ = decide(Observed(pods=pods, owner=_statefulset("new")))
    assert isinstance(create, CreateObject)
    assert create.body["spec"]["minResources"] == {"cpu": "4"}


def test_before_the_first_new_pod_the_old_ones_count() -> None:
    pods = (_of_revision("web-0", "old", "1"), _of_revision("web-1", "old", "1"))
    create, *_ = decide(Observed(pods=pods, owner=_statefulset("new")))
    assert isinstance(create, CreateObject)
    assert create.body["spec"]["minResources"] == {"cpu": "1"}


def test_annotations_that_changed_reach_the_group_and_foreign_ones_stay() -> None:
    owner = replicaset(notes={keys.SLA_WAITING_TIME: "5m"})
    member = pod("a", owner="rs-1", **{keys.GROUP_NAME: "podgroup-rs-1", keys.PREEMPTABLE: "true"})
    known = PodGroup(
        metadata=ObjectMeta(
            name="podgroup-rs-1",
            namespace="ns",
            uid="g",
            annotations={keys.SLA_WAITING_TIME: "1m", "other": "value"},
        ),
        spec=PodGroupSpec(min_member=1, min_resources={"cpu": "2"}, queue="default"),
    )
    (patch,) = decide(Observed(pods=(member,), owner=owner, podgroup=known))
    assert isinstance(patch, PatchObject)
    assert patch.patch == {
        "metadata": {"annotations": {keys.PREEMPTABLE: "true", keys.SLA_WAITING_TIME: "5m"}}
    }

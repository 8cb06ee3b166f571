"""What explain proposes was checked: applied to a copy of the cluster, it started the job."""

import msgspec

from tests.unit.dashboard.cluster import Cluster, changed, full, manifest
from tests.unit.scheduling.objects import EPOCH, nodes, queue
from vc.dashboard.logic.answers.future_answers import Explanation
from vc.dashboard.logic.explaining import explain
from vc.dashboard.logic.queues import queue_tree
from vc.messages.sessions import Unblock
from vc.model.api.job import JobState
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod, PodCondition
from vc.model.api.scheduling import PodGroup
from vc.scheduling.explain.apply_remedy import ACTIONS
from vc.scheduling.explain.remedy_search import RemedySearch
from vc.scheduling.explain.remedy_text import remedy_steps
from vc.scheduling.explain.simulation import Snapshot, simulate


def explained(cluster: Cluster, name: str) -> Explanation:
    found = explain(cluster.cluster_index(), cluster.reasons, f"ml/{name}", cluster.ground())
    assert found is not None
    return found


def test_the_remedy_of_a_job_behind_a_quota_and_too_few_nodes_has_both() -> None:
    cluster = Cluster(queue("team", capability={"cpu": "3"}), nodes(2, cpu=2))
    cluster.run(manifest("waits", 6, queue="team"))
    found = explained(cluster, "waits").remedy
    assert found is not None
    assert found.unblock is not None
    assert found.checked
    actions = [part.action for part in (found.unblock, *found.unblock.also)]
    assert sorted(actions) == ["add-room", "raise-capability"]
    ground = cluster.ground()
    snapshot = Snapshot(
        objects=list(ground.objects), conf=ground.conf, now=EPOCH, make_pods=ground.make_pods()
    )
    assert "ml/waits" not in simulate(snapshot, "ml/waits").started
    unblock = RemedySearch(snapshot, "ml/waits").find().remedy
    assert unblock is not None
    assert unblock.action == found.unblock.action
    assert "ml/waits" in simulate(snapshot, "ml/waits", unblock).started
    assert found.basis.startswith("checked: simulated, the job starts within ")
    assert len(found.steps) == 2
    assert found.alternatives, "others are shown, too"


def test_a_job_without_pods_is_looked_through_to_its_node_fit() -> None:
    cluster = full()
    cluster.run(manifest("large", 1, cpu="64"))
    cluster.objects = [
        changed(obj, status=changed(obj.status, phase="Pending"))
        if isinstance(obj, PodGroup)
        else obj
        for obj in cluster.objects
        if not isinstance(obj, Pod)
    ]
    found = explained(cluster, "large").remedy
    assert found is not None
    assert found.unblock is not None
    assert found.checked
    assert found.unblock.action == "add-room"
    assert found.steps == ["add nodes with room for 1 more pod of cpu 64 each"]


def test_a_search_without_time_says_that_nothing_was_checked() -> None:
    cluster = full()
    cluster.run(manifest("first", 4))
    cluster.run(manifest("waits", 2))
    found = explain(
        cluster.cluster_index(),
        cluster.reasons,
        "ml/waits",
        cluster.ground(),
        search_on=lambda: False,
    )
    assert found is not None
    assert found.remedy is not None
    assert not found.remedy.checked
    assert found.remedy.basis.startswith("not checked: ")
    proposed = cluster.reasons["ml/waits"].reason.unblock
    assert found.remedy.unblock is not None
    assert proposed is not None
    assert found.remedy.unblock.action == proposed.action


def test_a_refused_write_of_the_job_controller_is_the_reason_and_no_remedy_is_invented() -> None:
    cluster = full()
    cluster.run(manifest("first", 4))
    cluster.run(manifest("waits", 2))
    message = "Pod 'waits-w-0': violates PodSecurity \"restricted\""
    state = JobState(phase="Pending", reason="WriteRefused", message=message)
    *others, last = cluster.jobs
    cluster.jobs = [*others, changed(last, status=changed(last.status, state=state))]
    found = explained(cluster, "waits")
    assert found.notes[0].endswith(message)
    assert found.remedy is not None
    assert (found.remedy.checked, found.remedy.unblock) == (False, None)
    assert message in found.remedy.basis


def test_a_queue_that_holds_what_is_missing_and_is_not_reclaimable_is_named() -> None:
    cluster = Cluster(queue("mine"), queue("keeps", reclaimable=False), nodes(2, cpu=2))
    cluster.run(manifest("runs", 4, queue="keeps"))
    cluster.run(manifest("waits", 2, queue="mine"))
    found = explained(cluster, "waits")
    assert found.notes == [
        (
            "queue 'keeps' holds cpu 2 more than its share, which is missing here, but it is not "
            "reclaimable"
        )
    ]
    assert found.remedy is not None
    assert "set reclaimable: true on queue keeps" in found.remedy.alternatives


def elastic() -> Cluster:
    cluster = full()
    cluster.run(manifest("grows", 6, minimum=1))
    cluster.objects = [
        changed(obj, status=changed(obj.status, phase="Running"))
        if isinstance(obj, PodGroup)
        else obj
        for obj in cluster.objects
    ]
    return cluster


def test_pods_beyond_the_minimum_have_a_reason_and_count_in_requested() -> None:
    cluster = elastic()
    found = explained(cluster, "grows")
    assert found.explanation is None
    assert found.beyond_minimum is not None
    assert found.beyond_minimum.sentence.startswith("2 pods beyond the minimum of 1 wait: ")
    tree = queue_tree(cluster.cluster_index(), limit=10, stale="", shares=cluster.shares())
    (row,) = [row for row in tree.queues if row.name == "default"]
    assert (row.used["cpu"], row.requested["cpu"]) == ("4", "6")


def test_pods_beyond_the_minimum_stand_in_the_waiting_list() -> None:
    cluster = elastic()
    (row,) = cluster.waiting("default").waiting
    assert (row.position, row.group, row.stage, row.needed_pods) == (
        1,
        "ml/grows",
        "beyond-minimum",
        2,
    )
    assert row.reason == "2 pods wait beyond the minimum of 1; the job runs"
    assert row.missing == {"cpu": "2"}
    cluster.objects = [_told(obj) for obj in cluster.objects]
    assert cluster.waiting("default").waiting[0].reason == "said on the pod"


def _told(obj: ApiObject) -> ApiObject:
    if not isinstance(obj, Pod) or obj.spec.node_name:
        return obj
    said = PodCondition(type="PodScheduled", status="False", message="said on the pod")
    return changed(obj, status=changed(obj.status, conditions=[said]))


def test_every_remedy_has_words() -> None:
    for action in (*ACTIONS, "remove-field", "fix"):
        remedy = Unblock(action=action, target="t", pods=1, amounts={"cpu": 1000}, jobs=["ns/a"])
        (text,) = remedy_steps(remedy)
        assert action == "wait" or not text.startswith(action), text
        assert remedy_steps(msgspec.structs.replace(remedy, also=[remedy])) == [text, text]

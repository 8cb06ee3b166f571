"""Scenarios of reasons without nodes: what is refused before any node is considered."""

import msgspec

from tests.unit.scheduling.objects import gang, group, nodes, pod, queue
from tests.unit.scheduling.plugins.test_resourcequota import quota
from tests.unit.scheduling.scenarios.scenario import Scenario, Wait, plugins
from tests.unit.scheduling.session.test_volumes import using
from tests.unit.scheduling.storage import claim, storage_class, volume
from vc.model.api.keys import QUEUE_ALLOCATION_GATE
from vc.model.api.kubernetes import Namespace, NamespaceStatus
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue, QueueSpec
from vc.model.api.struct import JsonObject
from vc.scheduling.actions.inqueue_timeout import INQUEUE_SECONDS

QUOTAS = plugins("resourcequota", "overcommit", "predicates", "proportion", "nodeorder")
TWO = nodes(2, cpu=4)


def stored(name: str, *, job: str = "g", on: str = "") -> list[ApiObject]:
    """A job of one pod with a claim."""
    return [group(job, minimum=1), using(f"{job}-0", name, job=job, on=on)]


def invalid(says: str, *fix: ApiObject) -> dict[str, Wait]:
    return {"g": Wait(stage="invalid", code="Invalid", unblock="fix", says=says, fix=fix)}


def listed(name: str, namespaces: str) -> Queue:
    """A queue that only these namespaces may use."""
    made = queue(name)
    notes = {"volcano.sh/allowed-namespaces": namespaces}
    metadata = msgspec.structs.replace(made.metadata, annotations=notes)
    return msgspec.structs.replace(made, metadata=metadata)


def volumes(code: str, unblock: str, says: str, *then: str) -> dict[str, Wait]:
    return {"g": Wait(stage="volumes", code=code, unblock=unblock, says=says, then=then)}


ENDING = Namespace(metadata=ObjectMeta(name="ns", uid="first"), status=NamespaceStatus(phase="Terminating"))  # fmt: skip
OPENED = Namespace(metadata=ObjectMeta(name="ns", uid="second"))
GATED = [pod(f"p{n}", group="g", requests={"cpu": "1"}, gates=["wait"] if n else []) for n in range(3)]  # fmt: skip


def unsupported(says: str) -> dict[str, Wait]:
    return {"g": Wait(stage="unsupported", code="Unsupported", unblock="remove-field", says=says)}


def asking(spec: JsonObject, *, phase: str = "Inqueue") -> list[ApiObject]:
    """A gang of two whose group has these fields, too."""
    first, *pods = gang("g", 2, cpu=1, phase=phase)
    raw = msgspec.to_builtins(first)
    return [msgspec.convert({**raw, "spec": {**raw["spec"], **spec}}, PodGroup), *pods]


def asking_pods(spec: JsonObject, annotations: dict[str, str] | None = None) -> list[ApiObject]:
    """A gang of two whose pods have these fields, too."""
    first, *pods = gang("g", 2, cpu=1)
    made: list[ApiObject] = [first]
    for plain in pods:
        raw = msgspec.to_builtins(plain)
        raw["metadata"]["annotations"] |= annotations or {}
        made.append(msgspec.convert({**raw, "spec": {**raw["spec"], **spec}}, Pod))
    return made


EXTENDED = msgspec.structs.replace(queue("far"), spec=QueueSpec(extend_clusters=[{"name": "west"}]))

UNSUPPORTED = [
    Scenario(
        id=says,
        cluster=[[queue(), EXTENDED], TWO, cluster, gang("other", 1, cpu=1)],
        runs={"other": 1}, waits=unsupported(why),
    )
    for says, cluster, why in (
        ("a hard network topology", asking({"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}, phase="Pending"),
         "podgroup 'g': spec.networkTopology: mode hard is not supported"),
        ("a network topology without a mode", asking({"networkTopology": {"highestTierName": "rack"}}), "spec.networkTopology: mode hard"),
        ("a gang of sub-groups", asking({"subGroupPolicy": [{"name": "s", "subGroupSize": 2, "minSubGroups": 1}]}, phase="Pending"),
         "spec.subGroupPolicy[0]: a gang of sub-groups is not supported"),
        ("a hard topology of a sub-group", asking({"subGroupPolicy": [{"name": "s", "networkTopology": {"mode": "hard"}}]}),
         "spec.subGroupPolicy[0].networkTopology: mode hard"),
        ("claims on devices", asking_pods({"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}),
         "pod 'g-worker-0': spec.resourceClaims: dynamic resource allocation is not supported"),
        ("a group of Kubernetes 1.36", asking_pods({"schedulingGroup": {"podGroupName": "w"}}), "spec.schedulingGroup: gangs of Kubernetes' Workload API"),
        ("a workload of Kubernetes 1.35", asking_pods({"workloadRef": {"name": "w", "podGroup": "p"}}), "spec.workloadRef: gangs of Kubernetes' Workload API"),
        ("a NUMA policy", asking_pods({}, {"volcano.sh/numa-topology-policy": "restricted"}), "numa-topology-policy]: NUMA placement is not supported"),
        ("a queue that forwards to other clusters", gang("g", 2, cpu=1, queue="far"), "queue 'far': spec.extendClusters: forwarding jobs"),
    )
]  # fmt: skip

TABLE = [
    *UNSUPPORTED,
    Scenario(
        id="a queue that does not exist",
        cluster=[queue(), TWO, gang("g", 2, cpu=1, queue="none")],
        waits={"g": Wait(stage="queue-missing", code="QueueNotFound", unblock="create-queue", says="queue 'none' does not exist")},
    ),
    Scenario(
        id="a queue that is closed",
        cluster=[queue("shut", state="Closed"), TWO, gang("g", 2, cpu=1, queue="shut", phase="Pending")],
        waits={"g": Wait(stage="queue-closed", code="QueueClosed", unblock="open-queue", says="queue 'shut' is Closed")},
    ),
    Scenario(
        id="a queue that the job's namespace may not use",
        cluster=[listed("team", "a,b"), queue(), TWO, gang("g", 2, cpu=1, queue="team", phase="Pending"), gang("other", 1, cpu=1)],
        runs={"other": 1},
        waits={"g": Wait(stage="queue-closed", code="QueueNotAllowed", unblock="fix", says="namespace 'ns' may not use queue 'team'; name another queue, or add the namespace to the queue's annotation volcano.sh/allowed-namespaces", fix=[listed("team", "a,b,ns")])},
    ),
    Scenario(
        id="a pod whose request is no quantity",
        cluster=[queue(), TWO, gang("g", 1, cpu="many"), gang("other", 1, cpu=1)],
        runs={"other": 1}, waits=invalid("many", *gang("g", 1, cpu=1)[1:]),
    ),
    Scenario(
        id="a group whose minResources are no quantity",
        cluster=[queue(), TWO, gang("g", 1, cpu=1, min_resources={"cpu": "few"}), gang("other", 1, cpu=1)],
        runs={"other": 1}, waits=invalid("few", gang("g", 1, cpu=1)[0]),
    ),
    Scenario(
        id="a queue whose capability is no quantity",
        cluster=[[queue(), queue("odd", capability={"cpu": "lots"})], TWO, gang("g", 1, cpu=1, queue="odd"), gang("other", 1, cpu=1)],
        runs={"other": 1}, waits=invalid("queue 'odd'", queue("odd")),
    ),
    Scenario(
        id="a queue whose parent does not exist",
        cluster=[[queue(), queue("odd", parent="absent")], TWO, gang("g", 1, cpu=1, queue="odd"), gang("other", 1, cpu=1)],
        runs={"other": 1}, waits=invalid("queue 'odd': its parent 'absent' does not exist", queue("absent")),
    ),
    Scenario(
        id="a queue that stands above itself",
        cluster=[[queue(), queue("odd", parent="even"), queue("even", parent="odd")], TWO, gang("g", 1, cpu=1, queue="odd"), gang("other", 1, cpu=1)],
        runs={"other": 1}, waits=invalid("queue 'odd': its parent 'even' is below it", queue("even")),
    ),
    Scenario(
        id="a namespace that is being deleted",
        cluster=[queue(), TWO, ENDING, gang("g", 1, cpu=1)],
        waits={"g": Wait(stage="invalid", code="NamespaceTerminating", unblock="fix", says="namespace 'ns' is being deleted", fix=[OPENED])},
    ),
    Scenario(
        id="pods that do not exist yet",
        cluster=[queue(), TWO, gang("g", 2, minimum=4, cpu=1)],
        waits={"g": Wait(stage="tasks", code="NotEnoughTasks", unblock="create-pods", says="2 of the 4 pods that the gang needs exist")},
    ),
    Scenario(
        id="pods of a task that do not exist yet",
        cluster=[queue(), TWO, [group("g", minimum=3, roles={"ps": 1, "worker": 2}), pod("w0", group="g", role="worker"), pod("w1", group="g", role="worker"), pod("w2", group="g", role="worker")]],
        waits={"g": Wait(stage="tasks", code="NotEnoughPodsOfTask", unblock="create-pods", says="0 of the 1 pods of task 'ps'")},
    ),
    Scenario(
        id="pods with scheduling gates",
        cluster=[queue(), TWO, group("g", minimum=2), GATED],
        waits={"g": Wait(stage="tasks", code="NotEnoughTasks", unblock="lift-gates", says="2 pods have scheduling gates")},
    ),
    Scenario(
        id="pods with the scheduling gate that is ours to lift",
        cluster=[queue(), TWO, group("g", minimum=2), [pod(f"p{n}", group="g", requests={"cpu": "1"}, gates=[QUEUE_ALLOCATION_GATE]) for n in range(2)]],
        runs={"g": 2},
    ),
    Scenario(
        id="more pods with scheduling gates than the gang can do without",
        cluster=[queue(), TWO, group("g", minimum=3), GATED],
        waits={"g": Wait(stage="tasks", code="NotEnoughTasks", unblock="lift-gates", says="2 pods have scheduling gates ('wait'); 2 more are needed")},
    ),
    Scenario(
        id="a pod that could not be bound rests",
        cluster=[queue(), TWO, gang("g", 2, cpu=1)], not_bound="g-worker-0",
        waits={"g": Wait(stage="bind", code="BindFailed", unblock="wait", says="1 pods could not be bound")},
    ),
    Scenario(
        id="overcommit limit reached",
        cluster=[queue(), TWO, gang("full", 8, cpu=1, age=9, min_resources={"cpu": "8"}), gang("g", 2, cpu=1, phase="Pending", min_resources={"cpu": "2"})],
        runs={"full": 8}, waits={"g": Wait(stage="overcommit", unblock="add-room", says="overcommit limit reached: requested cpu 2, available 1.6", then=["gang"])},
    ),
    Scenario(
        id="a quota of the namespace is used up",
        cluster=[queue(), TWO, quota({"cpu": "4"}, {"cpu": "3"}), gang("g", 2, cpu=1, phase="Pending", min_resources={"cpu": "2"})],
        conf=QUOTAS, waits={"g": Wait(stage="namespace-quota", unblock="raise-quota", says="requested cpu 2, available 1")},
    ),
    Scenario(
        id="a job that was enqueued and does not fit returns to Pending",
        cluster=[queue(), TWO, gang("g", 1, cpu=6, phase="Pending", min_resources={"cpu": "6"})], later=INQUEUE_SECONDS,
        waits={"g": Wait(stage="overcommit", code="InqueueTimeout", unblock="add-room", says="0 of the 1 pods of cpu 6")},
    ),
    Scenario(id="a claim that does not exist", cluster=[queue(), TWO, stored("c")], waits=volumes("ClaimNotFound", "create-claim", "claim 'ns/c' does not exist", "volumes")),
    Scenario(id="a claim that its class has to bind", cluster=[queue(), TWO, claim("c"), storage_class(), stored("c")], waits=volumes("ClaimNotBound", "bind-claim", "storage class 'slow' has to give it a volume")),
    Scenario(id="a claim that is given its place and waits for its volume", cluster=[queue(), TWO, claim("c"), storage_class(waits=True), stored("c")], waits=volumes("ClaimNotBound", "bind-claim", "its nodes are reserved until its claims are bound")),
    Scenario(id="a claim whose volume does not exist", cluster=[queue(), TWO, claim("c", volume="v"), stored("c")], waits=volumes("VolumeNotFound", "create-volume", "volume 'v' of claim 'ns/c' does not exist")),
    Scenario(id="a claim that has lost its volume", cluster=[queue(), TWO, claim("c", volume="v", phase="Lost"), stored("c")], waits=volumes("VolumeNotFound", "create-volume", "has lost its volume 'v'")),
    Scenario(
        id="a claim that one pod alone may use",
        cluster=[queue(), TWO, claim("c", volume="v", modes=("ReadWriteOncePod",)), volume("v"), stored("c", job="first", on="node-01"), stored("c")],
        runs={"first": 1}, waits=volumes("ClaimInUse", "free-claim", "another pod uses it"),
    ),
]  # fmt: skip

"""partitionPolicy: labels, restarts and sub-groups of the partitions of a task."""

from tests.unit.job_controller.builders import (
    NOW,
    deleted,
    failed,
    job,
    observed,
    pod,
    podgroup,
    policy,
    task,
    written_status,
)
from vc.job_controller.logic import decide
from vc.messages.effects import CreateObject
from vc.model.api import keys
from vc.model.api.job import PartitionPolicy
from vc.model.api.kinds import PODS


def test_restarting_a_partition_restarts_its_pods() -> None:
    parts = PartitionPolicy(total_partitions=2, partition_size=2)
    of = job(
        "Running",
        tasks=[task(replicas=4, partition_policy=parts)],
        policies=[policy("RestartPartition", "PodFailed")],
    )
    seen = observed(of, pod(0), pod(1), failed(2), pod(3), podgroup=podgroup())
    decision = decide(seen, now=NOW)
    assert written_status(of, decision).controlled_resources["restart"] == "partition/worker/1/2"
    assert deleted(decision) == ["j-worker-2", "j-worker-3"]


def test_a_pod_of_a_partition_says_which() -> None:
    parts = PartitionPolicy(total_partitions=2, partition_size=2)
    of = job("Pending", tasks=[task(replicas=4, partition_policy=parts)])
    decision = decide(observed(of, podgroup=podgroup()), now=NOW)
    pods = [e.body for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODS]
    labels = [body["metadata"]["labels"][keys.PARTITION_ID] for body in pods]
    assert labels == ["0", "0", "1", "1"]

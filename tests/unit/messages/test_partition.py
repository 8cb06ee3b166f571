"""Partitions: everything of a job has the same number, for ever."""

import msgspec
import pytest

from vc.messages.partition import owning_key, partition_of, partition_of_key, partition_on
from vc.messages.topics import ALL, BY_NAME, DEAD_LETTERS, PARTITIONS, PROGRESS
from vc.model.api.job import Command, Job
from vc.model.api.kinds import COMMANDS, JOBS, PODGROUPS, PODS, QUEUES, Kind
from vc.model.api.meta import ApiObject, ObjectMeta, OwnerReference
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup, Queue

BATCH = "batch.volcano.sh/v1alpha1"


def owner(
    *, kind: str = "Job", api_version: str = BATCH, controller: bool = True
) -> OwnerReference:
    return OwnerReference(
        api_version=api_version, kind=kind, name="train", uid="u", controller=controller
    )


def meta(name: str, *owners: OwnerReference, namespace: str = "ml") -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace, owner_references=list(owners))


class Case(msgspec.Struct, frozen=True):
    """An object and whose partition it shares."""

    id: str
    kind: Kind
    object: ApiObject
    key: str


CASES = [
    Case("a job goes by its own name", JOBS, Job(metadata=meta("train")), "ml/train"),
    Case("a pod goes with its job", PODS, Pod(metadata=meta("train-w-0", owner())), "ml/train"),
    Case(
        "a pod group goes with its job",
        PODGROUPS,
        PodGroup(metadata=meta("pg", owner())),
        "ml/train",
    ),
    Case(
        "a command goes with its target",
        COMMANDS,
        Command(metadata=meta("cmd"), target=owner(controller=False)),
        "ml/train",
    ),
    Case(
        "a command to a queue goes by its own name",
        COMMANDS,
        Command(
            metadata=meta("cmd"),
            target=owner(kind="Queue", api_version="scheduling.volcano.sh/v1beta1"),
        ),
        "ml/cmd",
    ),
    Case("a command without a target too", COMMANDS, Command(metadata=meta("cmd")), "ml/cmd"),
    Case(
        "an owner that does not control does not count",
        PODS,
        Pod(metadata=meta("p", owner(controller=False))),
        "ml/p",
    ),
    Case(
        "a batch/v1 Job is no vcjob",
        PODS,
        Pod(metadata=meta("p", owner(api_version="batch/v1"))),
        "ml/p",
    ),
    Case(
        "another kind of the same group is no vcjob",
        PODS,
        Pod(metadata=meta("p", owner(kind="CronJob"))),
        "ml/p",
    ),
    Case("a plain pod goes by its own name", PODS, Pod(metadata=meta("p")), "ml/p"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_owning_key(case: Case) -> None:
    assert owning_key(case.object) == case.key
    assert partition_of(case.kind, case.object) == partition_of_key(case.key)


def test_kinds_that_are_not_shared_are_not_split() -> None:
    queue = Queue(metadata=meta("default", namespace=""))
    assert owning_key(queue) == "default"
    assert partition_of(QUEUES, queue) == 0
    assert BY_NAME[QUEUES.topic].partitions == 1


@pytest.mark.parametrize(
    ("key", "partition"), [("ml/train", 7), ("default", 7), ("", 0), ("ns/näme", 4), ("a/b", 4)]
)
def test_a_partition_never_changes(key: str, partition: int) -> None:
    assert partition_of_key(key) == partition


def test_keys_are_spread_over_all_partitions() -> None:
    counts = [0] * PARTITIONS
    for number in range(12_000):
        counts[partition_of_key(f"team-{number % 40}/job-{number}")] += 1
    assert min(counts) > 700
    assert max(counts) < 1300


def test_a_topic_of_one_partition_has_only_that() -> None:
    assert partition_on(PROGRESS, "pods") == 0
    assert partition_on(DEAD_LETTERS, "ml/train") == partition_of_key("ml/train")


def test_topic_names_are_unique_and_every_policy_is_stated() -> None:
    assert len(BY_NAME) == len(ALL)
    for topic in ALL:
        assert topic.partitions in (1, PARTITIONS)
        assert topic.retention_seconds > 0
        assert topic.consumers

"""Queues with an allow list of namespaces, and queues that allow pods to exempt themselves from preemption."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, group, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World, reason_of
from vc.model.api.kubernetes import Namespace
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import Queue
from vc.scheduling.conf.model import Conf

EVICTING = Conf(actions=("enqueue", "allocate", "preempt", "backfill"))


def listed(name: str, **notes: str) -> Queue:
    """A queue with annotations."""
    made = queue(name)
    metadata = msgspec.structs.replace(made.metadata, annotations=notes)
    return msgspec.structs.replace(made, metadata=metadata)


LISTS = [
    ({"volcano.sh/allowed-namespaces": "ns"}, True),
    ({"volcano.sh/allowed-namespaces": "a, ns"}, True),
    ({"volcano.sh/allowed-namespaces": "a,b"}, False),
    ({"volcano.sh/allowed-namespaces": ""}, False),
    ({"volcano.sh/allowed-namespace-selector": "team=x"}, True),
    ({"volcano.sh/allowed-namespace-selector": "team!=x"}, False),
    ({"volcano.sh/allowed-namespace-selector": "((("}, False),
    ({}, True),
]


@pytest.mark.parametrize(("notes", "allowed"), LISTS, ids=[str(notes) for notes, _ in LISTS])
def test_a_job_waits_in_a_queue_that_its_namespace_may_not_use(
    notes: dict[str, str], allowed: bool
) -> None:
    """It holds without webhooks: the scheduler itself looks."""
    space = Namespace(metadata=ObjectMeta(name="ns", labels={"team": "x"}))
    world = World(listed("team", **notes), nodes(1, cpu=8), space)
    world.put(*gang("job", 1, phase="Pending", queue="team", cpu=1))
    decisions = world.session()
    assert world.bound("job") == allowed
    if not allowed:
        reason = reason_of(decisions, "job")
        assert reason.code == "QueueNotAllowed"
        assert "namespace 'ns' may not use queue 'team'" in reason.sentence
        (condition,) = world.group("job").status.conditions
        assert condition.reason == "QueueNotAllowed"


def test_labels_that_change_let_a_job_in() -> None:
    world = World(listed("team", **{"volcano.sh/allowed-namespace-selector": "team=x"}), nodes(1))
    world.put(Namespace(metadata=ObjectMeta(name="ns")))
    world.put(*gang("job", 1, phase="Pending", queue="team", cpu=1))
    world.session()
    assert world.bound("job") == 0
    world.put(Namespace(metadata=ObjectMeta(name="ns", labels={"team": "x"})))
    assert world.matters, "a session is wanted"
    world.session()
    assert world.bound("job") == 1


@pytest.mark.parametrize(
    ("said", "evicted"), [({}, 0), ({"volcano.sh/honor-non-preemptable": "false"}, 1)]
)
def test_pods_exempt_themselves_only_where_their_queue_lets_them(
    said: dict[str, str], evicted: int
) -> None:
    world = World(
        listed("default", **said), nodes(1, cpu=8), priority_class("top", 1000),
        group("old", minimum=1, phase="Running"),
        pod("old-0", group="old", requests={"cpu": "8"}, on="node-01",
            annotations={"volcano.sh/preemptable": "false"}),
        gang("new", 1, priority_class="top", cpu=8),
        conf=EVICTING,
    )  # fmt: skip
    assert len(world.session().evictions) == evicted


def test_root_takes_no_jobs() -> None:
    """No queue reclaims from root: a pod there would keep a whole-cluster job of another queue out for ever."""
    world = World(queue(), queue("root"), queue("shut", state="Closed"), nodes(1, cpu=8))
    world.put(*gang("job", 1, phase="Pending", queue="root", cpu=1))
    reason = reason_of(world.session(), "job")
    assert world.bound("job") == 0
    assert reason.code == "QueueNotLeaf"
    assert reason.unblock is not None
    assert (reason.unblock.action, reason.unblock.target) == ("move-job", "default")

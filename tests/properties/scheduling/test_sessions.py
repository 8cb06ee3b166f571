"""Whatever the cluster looks like, after every session the invariants hold.

`World.session` checks them: no node over its allocatable, no queue over its capability, no partial gang, and a cluster
cache, updated one fact at a time, that equals the sums over all pods.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.scheduling.objects import gang, group, node, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.node import Taint
from vc.model.api.pod import Toleration
from vc.model.api.struct import ResourceList

QUEUES = ("default", "team", "team-a", "third")
LIMITS: list[ResourceList | None] = [
    None,
    {"cpu": "4"},
    {"cpu": "9", "memory": "6Gi"},
    {"pods": "5"},
]
GUARANTEES: list[ResourceList | None] = [None, None, {"cpu": "3"}]
MINIMUMS: list[ResourceList | None] = [None, {"cpu": "3"}]
TAINT = Taint(key="only", effect="NoSchedule")


@st.composite
def some_nodes(draw: st.DrawFn) -> list[ApiObject]:
    return [
        node(
            f"n{index}",
            cpu=draw(st.integers(0, 8)),
            memory=f"{draw(st.integers(1, 8))}Gi",
            pods=draw(st.sampled_from([1, 3, 110])),
            gpu=draw(st.sampled_from([0, 0, 2])),
            labels={"zone": draw(st.sampled_from("ab"))},
            taints=[TAINT] if draw(st.booleans()) and draw(st.booleans()) else [],
            ready=draw(st.sampled_from([True, True, True, False])),
            images=draw(st.sampled_from([{}, {"big": 2**33}, {"big": 2**32, "other:1": 2**31}])),
        )
        for index in range(draw(st.integers(0, 5)))
    ]


@st.composite
def some_queues(draw: st.DrawFn) -> list[ApiObject]:
    limits = st.sampled_from(LIMITS)
    kept = st.sampled_from(GUARANTEES)
    state = draw(st.sampled_from(["", "Open", "Closed"]))
    return [
        queue("default", capability=draw(limits), weight=draw(st.integers(1, 3)), guarantee=draw(kept)),
        queue("team", capability=draw(limits)),
        queue("team-a", capability=draw(limits), guarantee=draw(kept), parent="team", state=state),
        queue("third", guarantee=draw(kept)),
    ]  # fmt: skip


@st.composite
def a_job(draw: st.DrawFn, name: str) -> list[ApiObject]:
    roles = draw(st.dictionaries(st.sampled_from(["ps", "worker"]), st.integers(1, 4), min_size=1))
    total = sum(roles.values())
    job: list[ApiObject] = [
        group(
            name,
            minimum=draw(st.integers(0, total + 1)),
            roles=draw(st.sampled_from([{}, {"ps": 1}, {"worker": 2}])),
            queue=draw(st.sampled_from(QUEUES)),
            phase=draw(st.sampled_from(["", "Pending", "Inqueue"])),
            priority_class=draw(st.sampled_from(["", "high"])),
            min_resources=draw(st.sampled_from(MINIMUMS)),
            age=draw(st.integers(0, 3)),
        )
    ]
    for role, count in sorted(roles.items()):
        requests = draw(
            st.sampled_from(
                [{}, {"cpu": "1"}, {"cpu": "3"}, {"memory": "2Gi"}, {"cpu": "1", "nvidia.com/gpu": "1"}]
            )
        )  # fmt: skip
        selector = draw(st.sampled_from([{}, {}, {"zone": "a"}]))
        image = draw(st.sampled_from(["", "big", "other:1"]))
        tolerations = draw(st.sampled_from([(), (Toleration(operator="Exists"),)]))
        job += [
            pod(
                f"{name}-{role}-{n}",
                group=name,
                role=role,
                requests=dict(requests),
                selector=selector,
                tolerations=tolerations,
                image=image,
            )
            for n in range(count)
        ]
    return job


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_invariants_hold_after_every_session(data: st.DataObject) -> None:
    jobs = [data.draw(a_job(f"j{n}")) for n in range(data.draw(st.integers(1, 5)))]
    world = World(
        priority_class("high", 10), data.draw(some_queues()), data.draw(some_nodes()), *jobs
    )
    for turn in range(3):
        decisions = world.session()
        again = world.decide()
        # A group that runs frees what it had reserved while it waited, so the next session may let
        # another one in; of those that were in already, none may have been left behind. Who had others
        # evicted may find what it waited for as soon as they are asked to leave: a queue counts them no more.
        reserved = {eviction.group for eviction in decisions.evictions}
        left_behind = {gang.group for gang in again.binds} - set(again.enqueued) - reserved
        assert left_behind == set(), "a session leaves nothing that the next one would place"
        assert {job.group for job in decisions.reasons}.isdisjoint(
            gang_bind.group for gang_bind in decisions.binds
        )
        running = [p for p in world.pods() if p.status.phase == "Running"]
        if running:
            victim = data.draw(st.sampled_from(running))
            world.finish(victim.metadata.name)
        world.put(node(f"late{turn}", cpu=4))


def test_the_same_gang_in_any_number_of_parts_is_never_partial() -> None:
    for size in range(1, 12):
        world = World(queue(), [node("a", cpu=3), node("b", cpu=4)], gang("g", size, cpu=1))
        world.session()
        assert world.bound("g") == (size if size <= 7 else 0)

"""Pod affinity, task priorities and sla waiting times: the core decides as the reference does."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.scheduling.test_reference import (
    CLASSES,
    LIMITS,
    PHASES,
    PRIORITIES,
    REQUESTS,
    a_conf,
    hold_against_reference,
    near,
    some_nodes,
)
from tests.unit.scheduling.objects import TASK, group, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.pod import TopologySpreadConstraint
from vc.model.api.selectors import LabelSelector
from vc.model.api.struct import JsonObject, ResourceList
from vc.scheduling.conf.model import Conf, PluginConf

LEAST: list[ResourceList | None] = [None, {"cpu": "4"}, {"cpu": "9", "memory": "1Gi"}]
FAR: list[JsonObject | None] = [
    None, None, near("podAntiAffinity", "worker", "host"), near("podAntiAffinity", "ps", "zone"),
    near("podAntiAffinity", "worker", "zone"), near("podAffinity", "worker", "zone"),
]  # fmt: skip


def even(role: str, key: str, skew: int) -> TopologySpreadConstraint:
    selector = LabelSelector(match_labels={TASK: role})
    return TopologySpreadConstraint(max_skew=skew, topology_key=key, label_selector=selector)


SPREAD = [(), (), (even("worker", "zone", 1),), (even("worker", "host", 2), even("ps", "zone", 1))]
WAITING = ["", "", "30m", "55m", "60m", "120m"]
"""Jobs are an hour old, and some seconds."""


@st.composite
def a_job_beside_others(draw: st.DrawFn, name: str) -> list[ApiObject]:
    """Its pods care about others, and some of them go first."""
    roles = draw(st.dictionaries(st.sampled_from(["ps", "worker"]), st.integers(1, 4), min_size=1))
    head = group(
        name,
        minimum=draw(st.integers(0, sum(roles.values()))),
        queue=draw(st.sampled_from(["alone", "dept-a", "dept-b"])),
        phase=draw(st.sampled_from(["Pending", "Inqueue"])),
        priority_class=draw(st.sampled_from(["", *CLASSES])),
        min_resources=draw(st.sampled_from(LEAST)),
        age=draw(st.integers(0, 3)),
    )
    waiting = draw(st.sampled_from(WAITING))
    annotations = {"volcano.sh/sla-waiting-time": waiting} if waiting else {}
    metadata = msgspec.structs.replace(head.metadata, annotations=annotations)
    job: list[ApiObject] = [msgspec.structs.replace(head, metadata=metadata)]
    for role, count in sorted(roles.items()):
        requests = draw(st.sampled_from(REQUESTS))
        selector = draw(st.sampled_from([{}, {}, {"zone": "a"}]))
        affinity, spread = draw(st.sampled_from(FAR)), draw(st.sampled_from(SPREAD))
        job += [
            pod(
                f"{name}-{role}-{n}",
                group=name,
                role=role,
                requests=dict(requests),
                selector=selector,
                affinity=affinity,
                spread=spread,
                priority=draw(st.sampled_from([None, None, 5, -1])),
            )
            for n in range(count)
        ]
    return job


@settings(max_examples=150, deadline=None, phases=PHASES)
@given(data=st.data())
def test_the_core_places_beside_others_and_in_time_as_the_reference_does(
    data: st.DataObject,
) -> None:
    """Required anti-affinity and spread, task priorities, sla; queues whose parent is none."""
    drawn = data.draw(a_conf())
    first = (
        (PluginConf(name="sla"), *drawn.tiers[0]) if data.draw(st.booleans()) else drawn.tiers[0]
    )
    conf = Conf(actions=("enqueue", "allocate", "backfill"), tiers=(first, drawn.tiers[1]))
    above = data.draw(st.sampled_from(["", "", "", "absent", "dept-a"]))
    queues = [
        queue("alone"), queue("dept", parent=above, capability=data.draw(st.sampled_from(LIMITS))),
        queue("dept-a", parent="dept", weight=2), queue("dept-b", parent="dept"),
    ]  # fmt: skip
    world = World(PRIORITIES, queues, data.draw(some_nodes()), conf=conf)
    hold_against_reference(data, world, a_job_beside_others)

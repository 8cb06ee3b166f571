"""The columnar core decides as the naive reference does (`tests/reference`)."""

from collections.abc import Callable

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.properties.scheduling.applied_decisions import note_claims, note_minimums, start
from tests.reference.cluster import read_cluster
from tests.reference.requested import Claims, update_claims
from tests.reference.scheduler import schedule
from tests.unit.scheduling.objects import TASK, group, node, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.model.api.node import Taint
from vc.model.api.pod import Toleration
from vc.model.api.struct import JsonObject, ResourceList
from vc.model.values.times import parse_duration
from vc.scheduling import plugins
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.framework.framework import Framework
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.session.session import Session

PHASES = [phase for phase in Phase if phase is not Phase.explain]
CLASSES = {"low": 1, "high": 9}
PRIORITIES = [priority_class(name, value) for name, value in CLASSES.items()]
TAINT = Taint(key="only", effect="NoSchedule")
NO = {"volcano.sh/preemptable": "false"}
ZONE_B: JsonObject = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "c"]}]}
            ]
        }
    }
}


def near(kind: str, role: str, key: str, weight: int = 0) -> JsonObject:
    """Pods of a role, required or (with a weight) preferred."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {TASK: role}}}
    if not weight:
        return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    preferred = {"weight": weight, "podAffinityTerm": term}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}


AFFINITIES: list[JsonObject | None] = [
    None, None, None, None, ZONE_B,
    near("podAffinity", "ps", "zone", 10), near("podAffinity", "worker", "host", 3),
    near("podAntiAffinity", "worker", "host", 7), near("podAntiAffinity", "ps", "zone", 40),
    near("podAffinity", "worker", "zone"), near("podAffinity", "ps", "host"),
]  # fmt: skip
REQUESTS: list[ResourceList] = [
    {}, {"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"memory": "2Gi"}, {"cpu": "500m"},
    {"cpu": "3"}, {"cpu": "1", "nvidia.com/gpu": "1"},
]  # fmt: skip
LIMITS: list[ResourceList | None] = [None, None, {"cpu": "6"}, {"cpu": "9", "memory": "6Gi"}, {"pods": "5"}]  # fmt: skip
FAIR: list[ResourceList | None] = [None, {"cpu": "4"}, {"cpu": "2", "memory": "4Gi"}]
MINIMUMS: list[ResourceList | None] = [None, {"cpu": "2"}, {"cpu": "1", "memory": "1Gi"}]
MEBI = 1024 * 1024
IMAGES = {
    "tools:1": 900 * MEBI,
    "train": 20_000 * MEBI,
    "ps:latest": 4_000 * MEBI,
    "tiny": 9 * MEBI,
}
GREEDY_MEMORY: list[ResourceList] = [{}, {}, {"memory": "1Gi"}, {"memory": "4Gi"}]
DESERVED: list[ResourceList | None] = [
    None, {"cpu": "1"}, {"cpu": "2"}, {"cpu": "4"}, {"memory": "3Gi"}, {"cpu": "3", "memory": "2Gi"},
    {"cpu": "1", "memory": "8Gi"},
]  # fmt: skip
DESERVED_ABOVE: list[ResourceList | None] = [
    None, {"cpu": "4"}, {"cpu": "6"}, {"cpu": "7", "memory": "12Gi"},
]  # fmt: skip
ASKS: list[ResourceList] = [
    {"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "2Gi"}, {"memory": "2Gi"},
]  # fmt: skip
ASKS_MORE: list[ResourceList] = [
    {"cpu": "1"}, {"cpu": "2"}, {"cpu": "2", "memory": "4Gi"}, {"memory": "4Gi"},
]  # fmt: skip
COMPLETED = ["", "", "", "", '{"worker":"1,40"}', '{"ps":"0-1","worker":"3"}']
"""Notes of members that have succeeded and whose pods are gone; of some a pod is still there."""
LEAVES = ("alone", "dept-a", "dept-b")
PENDING = ["Pending", "Inqueue"]
DELAYS = ["0", "0", "500ms", "1500ms"]
SHARES = [
    PluginConf(name="proportion"),
    PluginConf(name="capacity"),
    PluginConf(name="capacity", switches={"hierarchy": True}),
    PluginConf(name="capacity", arguments={"ancestorReclaimLevel": "1"}),
    PluginConf(
        name="capacity", arguments={"ancestorReclaimLevel": "2"}, switches={"hierarchy": True}
    ),
]
KEPT: list[ResourceList | None] = [None, None, None, {"cpu": "2"}]


SOME_IMAGES = st.lists(st.sampled_from(sorted(IMAGES)), unique=True, max_size=3)


@st.composite
def some_nodes(draw: st.DrawFn) -> list[ApiObject]:
    return [
        node(
            f"n{index}",
            cpu=draw(st.integers(1, 8)),
            memory=f"{draw(st.integers(1, 8))}Gi",
            pods=draw(st.sampled_from([2, 110, 110])),
            gpu=draw(st.sampled_from([0, 0, 2])),
            labels={
                "zone": draw(st.sampled_from("ab")),
                **draw(st.sampled_from([{}, {"host": f"n{index}"}])),
            },
            taints=[TAINT] if draw(st.integers(0, 4)) == 0 else [],
            ready=draw(st.integers(0, 6)) != 0,
            unschedulable=draw(st.integers(0, 8)) == 0,
            images={name: IMAGES[name] for name in draw(SOME_IMAGES)},
        )
        for index in range(draw(st.integers(1, 5)))
    ]


@st.composite
def some_queues(draw: st.DrawFn) -> list[ApiObject]:
    return [
        queue(
            name,
            parent=parent,
            weight=draw(st.integers(1, 3)),
            priority=draw(st.sampled_from([0, 0, 5])),
            capability=draw(st.sampled_from(LIMITS)),
            guarantee=draw(st.sampled_from(KEPT)),
            deserved=draw(st.sampled_from(FAIR)),
            reclaimable=draw(st.sampled_from([None, None, False])),
            fifo=draw(st.integers(0, 4)) == 0,
            state=draw(st.sampled_from(["Open", "Open", "Open", "Closed"])),
        )
        for name, parent in (("alone", ""), ("dept", ""), ("dept-a", "dept"), ("dept-b", "dept"))
    ]


@st.composite
def a_job(draw: st.DrawFn, name: str) -> list[ApiObject]:
    roles = draw(st.dictionaries(st.sampled_from(["ps", "worker"]), st.integers(1, 4), min_size=1))
    head = group(
        name,
        minimum=draw(st.integers(0, sum(roles.values()))),
        roles=draw(st.sampled_from([{}, {}, {"ps": 1}, {"worker": 2}])),
        queue=draw(st.sampled_from(["alone", "dept", "dept-a", "dept-b"])),
        phase=draw(st.sampled_from(["", "Pending", "Inqueue", "Inqueue"])),
        priority_class=draw(st.sampled_from(["", *CLASSES])),
        min_resources=draw(st.sampled_from(MINIMUMS)),
        age=draw(st.integers(0, 3)),
        completed=draw(st.sampled_from(COMPLETED)),
    )
    job: list[ApiObject] = [head]
    for role, count in sorted(roles.items()):
        requests = draw(st.sampled_from(REQUESTS))
        selector = draw(st.sampled_from([{}, {}, {}, {"zone": "a"}]))
        affinity = draw(st.sampled_from(AFFINITIES))
        tolerations = draw(st.sampled_from([(), (Toleration(operator="Exists"),)]))
        ports = draw(st.sampled_from([(), (), (), (80,)]))
        annotations = draw(st.sampled_from([None, None, None, NO]))
        gates = draw(st.sampled_from([(), (), (), ("wait",)]))
        image = draw(st.sampled_from(["", "train:latest", "ps", "tools:1", "tiny", "unheard-of"]))
        job += [
            pod(
                f"{name}-{role}-{n}",
                group=name,
                role=role,
                requests=dict(requests),
                selector=selector,
                affinity=affinity,
                tolerations=tolerations,
                host_ports=ports,
                annotations=annotations,
                gates=gates,
                image=image,
            )
            for n in range(count)
        ]
    return job


@st.composite
def a_greedy_job(draw: st.DrawFn, name: str, queues: tuple[str, ...] = LEAVES) -> list[ApiObject]:
    """One that the cluster is soon full of."""
    count = draw(st.sampled_from([1, 2, 3, 4, 5, 14]))
    requests: ResourceList = {"cpu": draw(st.sampled_from(["1", "1", "2", "3"]))}
    requests |= draw(st.sampled_from(GREEDY_MEMORY))
    annotations = draw(st.sampled_from([None, None, None, None, NO]))
    head = group(
        name,
        minimum=draw(st.integers(1, min(count, 5))),
        queue=draw(st.sampled_from(queues)),
        priority_class=draw(st.sampled_from(["", *CLASSES])),
        age=draw(st.integers(0, 3)),
        completed=draw(st.sampled_from(["", "", "", '{"w":"1,40"}'])),
    )
    return [
        head,
        *[
            pod(f"{name}-w-{n}", group=name, role="w", requests=requests, annotations=annotations)
            for n in range(count)
        ],
    ]


@st.composite
def an_equal_job(draw: st.DrawFn, name: str) -> list[ApiObject]:
    """One of many of a queue that differ only in their size."""
    count = draw(st.integers(1, 7))
    head = group(
        name,
        minimum=draw(st.integers(1, min(count, 3))),
        queue="alone",
        priority_class=draw(st.sampled_from(["low", "low", "low", "high"])),
        age=draw(st.integers(0, 3)),
    )
    requests: ResourceList = {"cpu": draw(st.sampled_from(["1", "1", "2", "3"]))}
    pods = [pod(f"{name}-w-{n}", group=name, role="w", requests=requests) for n in range(count)]
    return [head, *pods]


@st.composite
def a_conf(draw: st.DrawFn) -> Conf:
    first, _ = Conf().tiers
    names = ["overcommit", "drf", "predicates", "", "nodeorder", *draw(st.sampled_from([[], ["binpack"]]))]  # fmt: skip
    tier = [PluginConf(name=name) for name in names]
    tier[1] = PluginConf(name="drf", switches=draw(st.sampled_from([{}, {"preemptable": True}])))
    tier[3] = draw(st.sampled_from(SHARES))
    return Conf(tiers=(first, tuple(tier)))


def compare(
    world: World, met_at: dict[str, float] | None = None, claims: Claims | None = None
) -> Decisions:
    """One session of both over the same objects; `met_at` is when jobs got their minimum, `claims` what
    they were enqueued with."""
    decisions = world.decide()
    shares = world.conf.tiers[1][3]
    expected = schedule(
        world.objects(),
        actions=world.conf.actions,
        plugin=shares.name,
        binpack=world.conf.tiers[1][-1].name == "binpack",
        leaves_only=shares.name == "capacity" and shares.switches.get("hierarchy", False),
        level=int(shares.arguments.get("ancestorReclaimLevel", "0")),
        even=world.conf.tiers[1][1].switches.get("preemptable", False),
        sla_at=world.now if world.conf.tiers[0][0].name == "sla" else None,
        now=world.now,
        delay=parse_duration(world.conf.configurations[0].arguments["surplusDelay"]),
        met_at=met_at,
        claims=claims,
    )
    assert decisions.left_out == ()
    session = Session(world.snapshot(), Framework(world.conf, plugins.REGISTRY), world.now)
    assert session.framework.queues.shares is not None
    deserved = session.framework.queues.shares.deserved_shares(session)
    for name, amounts in expected.deserved.items():
        assert _some(deserved.get(name, {})) == _some(amounts), f"what {name} deserves"
    assert sorted(decisions.enqueued) == sorted(expected.enqueued)
    assert {g.group: _some(g.claim) for g in decisions.enqueued_groups} == {
        job: _some(amounts) for job, amounts in expected.claims.items()
    }
    binds = {bind.name: bind.node for gang in decisions.binds for bind in gang.binds}
    assert binds == expected.binds
    victims = {e.group: sorted(p.name for p in e.pods) for e in decisions.evictions}
    assert victims == {job: sorted(pods) for job, pods in expected.victims.items()}
    phases = {f"{s.namespace}/{s.name}": s.status.phase for s in decisions.statuses}
    for key, phase in expected.phases.items():
        known = world.group(key.removeprefix("ns/")).status.phase or "Pending"
        assert phases.get(key, known) == phase, f"the phase of {key}"
    return decisions


def _some(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def hold_against_reference(
    data: st.DataObject, world: World, job: Callable[[str], st.SearchStrategy[list[ApiObject]]]
) -> None:
    """Some turns: jobs come, both decide, and what the core decided comes true."""
    met_at: dict[str, float] = {}
    claims: Claims = {}
    for turn in range(3):
        for n in range(data.draw(st.integers(1, 4))):
            world.put(*data.draw(job(f"j{turn}{n}")))
        compare(world, met_at, claims)
        note_claims(world.session(), claims)
        note_minimums(world, met_at)
        start(world)
        world.now += 1
        for _ in range(3):  # until reservations are redeemed, which the reference knows nothing of
            if world.leave():
                update_claims(read_cluster(world.objects()), claims)
                note_claims(world.session(), claims)
                note_minimums(world, met_at)
                world.now += 1
        if world.cache.overlays.evictions.nominated():
            return
        # A job that has got what it was enqueued with claims no more, also when its pods finish now.
        update_claims(read_cluster(world.objects()), claims)
        running = sorted(p.metadata.name for p in world.pods() if p.status.phase == "Running")
        if running:
            world.finish(*data.draw(st.lists(st.sampled_from(running), unique=True, max_size=2)))


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(data=st.data())
def test_the_core_decides_as_the_reference_does(data: st.DataObject) -> None:
    conf, delay = data.draw(a_conf()), data.draw(st.sampled_from(DELAYS))
    queues, nodes = data.draw(some_queues()), data.draw(some_nodes())
    world = World(PRIORITIES, queues, nodes, conf=conf, surplus_delay=delay)
    hold_against_reference(data, world, a_job)


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(data=st.data())
def test_the_core_evicts_whom_the_reference_evicts(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(2, 6), min_size=1, max_size=3))
    fair = st.sampled_from(DESERVED)
    queues = [
        queue("alone", weight=2, deserved=data.draw(fair)),
        queue("dept", deserved=data.draw(fair), guarantee=data.draw(st.sampled_from(KEPT))),
        queue("dept-a", parent="dept", weight=2, deserved=data.draw(fair)),
        queue(
            "dept-b",
            parent="dept",
            deserved=data.draw(fair),
            reclaimable=data.draw(st.sampled_from([None, None, False])),
        ),
    ]
    world = World(
        PRIORITIES,
        queues,
        [node(f"n{n}", cpu=cpu, memory=f"{2 * cpu}Gi") for n, cpu in enumerate(sizes)],
        conf=data.draw(a_conf()),
        surplus_delay=data.draw(st.sampled_from(DELAYS)),
    )
    hold_against_reference(data, world, a_greedy_job)


@st.composite
def branches(draw: st.DrawFn) -> list[ApiObject]:
    return [
        queue(
            name,
            parent=parent,
            deserved=draw(st.sampled_from(DESERVED if parent else DESERVED_ABOVE)),
            guarantee=draw(st.sampled_from(KEPT)) if parent else None,
        )
        for name, parent in (("a", ""), ("a1", "a"), ("a2", "a"), ("b", ""), ("b1", "b"))
    ]


def growing(name: str, in_queue: str, requests: ResourceList) -> list[ApiObject]:
    """A job that starts with one pod and fills what there is."""
    pods = [pod(f"{name}-w-{n}", group=name, role="w", requests=requests) for n in range(9)]
    return [group(name, minimum=1, queue=in_queue), *pods]


@settings(max_examples=400, deadline=None, phases=PHASES)
@given(data=st.data())
def test_the_core_reclaims_as_the_reference_does(data: st.DataObject) -> None:
    """A full cluster of growing jobs, then small ones that their queues may deserve."""
    names = ("overcommit", "drf", "predicates")
    capacity = data.draw(st.sampled_from(SHARES[1:]))
    tier = (*(PluginConf(name=name) for name in names), capacity, PluginConf(name="nodeorder"))
    conf = Conf(tiers=(Conf().tiers[0], tier))
    world = World(data.draw(branches()), [node("n", cpu=8, memory="16Gi")], conf=conf)
    leaves = st.sampled_from(["a1", "a2", "b1"])
    for n in range(data.draw(st.integers(1, 3))):
        world.put(*growing(f"full{n}", data.draw(leaves), data.draw(st.sampled_from(ASKS))))
    world.session()
    for n in range(data.draw(st.integers(1, 3))):
        asks, phase = data.draw(st.sampled_from(ASKS_MORE)), data.draw(st.sampled_from(PENDING))
        head = group(f"new{n}", minimum=1, queue=data.draw(leaves), phase=phase, min_resources=asks)
        world.put(head, pod(f"new{n}-w-0", group=f"new{n}", role="w", requests=asks))
    world.now += 1
    compare(world)


@settings(max_examples=100, deadline=None, phases=PHASES)
@given(data=st.data())
def test_equal_priority_preemption_is_as_in_the_reference(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(2, 9), min_size=1, max_size=2))
    world = World(
        PRIORITIES,
        queue("alone"),
        [node(f"n{n}", cpu=cpu) for n, cpu in enumerate(sizes)],
        conf=data.draw(a_conf()),
    )
    hold_against_reference(data, world, an_equal_job)

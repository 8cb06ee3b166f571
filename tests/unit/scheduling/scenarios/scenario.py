"""A scenario: a cluster in a few words, sessions until nothing more happens, and how it ends.

`World` checks the invariants after every session, and every session is run again from its record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from tests.unit.scheduling.objects import GROUP
from tests.unit.scheduling.world import World
from vc.messages.sessions import JobReason
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.model.decisions import Decisions

SESSIONS_MAX = 30
SESSION_SECONDS = 11.0
"""More than a job has to wait before it may have others evicted again."""

Cluster = Sequence[ApiObject | Sequence[ApiObject]]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """How a job that waits says so."""

    stage: str
    unblock: str
    """The action that is proposed."""
    code: str = "NotEnoughResources"
    says: str = ""
    """Part of its sentence."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Nodes that checks leave, where it takes other pods or volumes to count them."""
    then: Sequence[str] = ()
    """Stages it meets next, one after the other, after each has been unblocked."""
    fix: Sequence[ApiObject] = ()
    """What its `fix` is, in this scenario."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Who runs, who leaves and who waits in the end. Jobs that are not named do not run."""

    id: str
    cluster: Cluster
    then: Cluster = ()
    """Comes when the first part is stable."""
    conf: Conf = field(default_factory=Conf)
    runs: Mapping[str, int] = field(default_factory=dict)
    """Job to pods on nodes."""
    shares: Mapping[str, int] = field(default_factory=dict)
    """Queue to pods on nodes; then jobs are not looked at one by one."""
    on: Mapping[str, str] = field(default_factory=dict)
    """Job to the nodes of its pods: `n1 n1 n2`."""
    evicted: str = ""
    """Pods, in the order of their names: `a-1 a-2`."""
    waits: Mapping[str, Wait] = field(default_factory=dict)
    remade: bool = False
    """Victims are created again, as controllers do."""
    lingering: bool = False
    """Victims have not left yet."""
    later: float = 0
    """So many seconds pass before the last sessions."""
    not_bound: str = ""
    """A pod whose bind failed just now."""


@dataclass(frozen=True)
class Played:
    """A scenario at its end."""

    world: World
    last: Decisions
    evicted: tuple[str, ...]

    @property
    def waiting(self) -> dict[str, JobReason]:
        """By name of the job."""
        return {job.group.partition("/")[2]: job for job in self.last.reasons}


def play(scenario: Scenario) -> Played:
    """To its end."""
    world = World(*scenario.cluster, conf=scenario.conf)
    if scenario.not_bound:
        failed = world.pod(scenario.not_bound)
        world.cache.unassume(failed.key, failed.metadata.uid, now=world.now)
        return Played(world, world.session(), ())
    last, evicted = run_until_stable(world, scenario)
    if scenario.then:
        for some in scenario.then:
            world.put(*([some] if isinstance(some, ApiObject) else some))
        last, more = run_until_stable(world, scenario)
        evicted += more
    if scenario.later:
        world.now += scenario.later
        last, more = run_until_stable(world, scenario)
        evicted += more
    return Played(world, last, tuple(sorted(evicted)))


def run_until_stable(world: World, scenario: Scenario) -> tuple[Decisions, list[str]]:
    """Sessions until one changes nothing: the last one, and the pods that were evicted."""
    evicted: list[str] = []
    for _ in range(SESSIONS_MAX):
        decisions = world.session()
        victims = [ref.name for eviction in decisions.evictions for ref in eviction.pods]
        evicted += victims
        gone = [world.pod(name) for name in victims]
        if not scenario.lingering:
            world.leave()
            world.put(*(_created_again(pod) for pod in gone if scenario.remade))
            world.now += SESSION_SECONDS
        if not (decisions.enqueued or decisions.binds or victims or decisions.releases):
            return decisions, evicted
    raise AssertionError("it does not come to rest")


def _created_again(pod: Pod) -> Pod:
    """As its controller makes it again."""
    metadata = msgspec.structs.replace(
        pod.metadata, uid=f"{pod.metadata.uid}+", deletion_timestamp=None
    )
    return msgspec.structs.replace(
        pod,
        metadata=metadata,
        spec=msgspec.structs.replace(pod.spec, node_name=""),
        status=msgspec.structs.replace(pod.status, phase="Pending", nominated_node_name=""),
    )


def job_of(pod: Pod) -> str:
    return pod.metadata.annotations.get(GROUP, "")


def plugins(*names: str | PluginConf, actions: Sequence[str] | None = None) -> Conf:
    """A configuration of one tier below priority, gang and conformance."""
    second = tuple(PluginConf(name=n) if isinstance(n, str) else n for n in names)
    first = tuple(PluginConf(name=name) for name in ("priority", "gang", "conformance"))
    conf = Conf(tiers=(first, second))
    return msgspec.structs.replace(conf, actions=tuple(actions)) if actions else conf

"""resourcequota: quotas of namespaces keep jobs Pending before their pods are refused."""

import msgspec
import pytest

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.world import World, reason_of
from vc.messages.sessions import Stage
from vc.model.api.kubernetes import ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus
from vc.model.api.meta import ApiObject, ObjectMeta
from vc.model.api.struct import ResourceList
from vc.scheduling.conf.model import Conf, PluginConf

CONF = Conf(
    tiers=(
        tuple(PluginConf(name=n) for n in ("gang", "resourcequota")),
        tuple(PluginConf(name=n) for n in ("overcommit", "predicates", "proportion")),
    )
)


def quota(
    hard: ResourceList, used: ResourceList | None = None, *, scopes: list[str] | None = None
) -> ResourceQuota:
    return ResourceQuota(
        metadata=ObjectMeta(name="limit", namespace="ns"),
        spec=ResourceQuotaSpec(hard=hard, scopes=scopes or []),
        status=ResourceQuotaStatus(hard=hard, used=used or {}),
    )


def pending_job(name: str, *, age: int = 0, **resources: str) -> list[ApiObject]:
    wanted: ResourceList = {key.replace("_", "."): value for key, value in resources.items()}
    return gang(name, 1, cpu=2, phase="Pending", age=age, min_resources=wanted)[:1]


@pytest.mark.parametrize(
    ("given", "enqueued_groups"),
    [
        (quota({"cpu": "4"}), True),
        (quota({"cpu": "4"}, {"cpu": "2"}), True),
        (quota({"cpu": "4"}, {"cpu": "3"}), False),
        (quota({"requests.cpu": "4"}, {"requests.cpu": "3"}), False),
        (quota({"limits.cpu": "1"}), True),
        (quota({"pods": "3"}, {"pods": "3"}), False),
        (quota({"count/pods": "3"}, {"count/pods": "2"}), True),
        (quota({"cpu": "0"}, scopes=["BestEffort"]), True),
        (quota({"memory": "1Ki"}), True),
        (quota({"cpu": "much"}), True),
    ],
    ids=["fits", "just fits", "used", "requests", "another key", "pods", "pods by count", "scoped",
         "another resource", "unreadable"],
)  # fmt: skip
def test_a_job_is_let_in_within_the_quota(given: ResourceQuota, *, enqueued_groups: bool) -> None:
    world = World(queue(), nodes(1), given, pending_job("g", cpu="2"), conf=CONF)
    assert bool(world.decide().enqueued) is enqueued_groups
    without = World(queue(), nodes(1), given, pending_job("g", cpu="2"))
    assert without.decide().enqueued == ("ns/g",)


def test_keys_of_quotas_in_min_resources_count() -> None:
    world = World(
        queue(),
        nodes(1),
        quota({"limits.cpu": "3"}),
        pending_job("g", cpu="1", limits_cpu="4"),
        conf=CONF,
    )
    assert world.decide().enqueued == ()


def test_jobs_that_were_let_in_and_have_no_pods_yet_count() -> None:
    given = quota({"cpu": "4"})
    jobs = [pending_job("a", age=2, cpu="3"), pending_job("b", age=1, cpu="3")]
    world = World(queue(), nodes(1), given, *jobs, conf=CONF)
    assert world.session().enqueued == ("ns/a",)
    assert world.session().enqueued == (), "in the next session, too"


def test_what_would_unblock_it_does() -> None:
    world = World(
        queue(), nodes(1), quota({"cpu": "4"}, {"cpu": "3"}), pending_job("g", cpu="2"), conf=CONF
    )
    reason = reason_of(world.session(), "g")
    assert reason.stage is Stage.NAMESPACE_QUOTA
    assert (
        reason.sentence
        == "insufficient ResourceQuota 'limit' in namespace 'ns': requested cpu 2, available 1"
    )
    assert reason.unblock is not None
    assert (reason.unblock.action, reason.unblock.target) == ("raise-quota", "ns/limit")
    raised = 4 + reason.unblock.amounts["cpu"] // 1000
    world.put(quota({"cpu": str(raised)}, {"cpu": "3"}))
    assert world.matters
    assert world.session().enqueued == ("ns/g",)


def test_pods_that_end_wake_and_pods_that_come_do_not() -> None:
    world = World(queue(), nodes(1), quota({"cpu": "4"}, {"cpu": "3"}), conf=CONF)
    world.put(quota({"cpu": "4"}, {"cpu": "4"}))
    assert not world.matters
    world.put(quota({"cpu": "4"}, {"cpu": "1"}))
    assert world.matters


def test_a_quota_that_cannot_be_read_is_reported() -> None:
    world = World(queue(), nodes(1), quota({"cpu": "much"}), conf=CONF)
    assert "cpu" in world.cache.problems["resourcequota ns/limit"]
    gone = msgspec.structs.replace(quota({"cpu": "1"}))
    world.put(gone)
    assert "resourcequota ns/limit" not in world.cache.problems

"""Keeping certificates: replicas share one Secret through renewals, races and damage."""

import asyncio

import pytest

from tests.builders.contexts import memory_context
from vc.admission.certificates import CertificateKeeper
from vc.admission.config import Config
from vc.clock import LoopClock
from vc.model.api.kinds import NAMESPACES, SECRETS
from vc.model.api.struct import JsonObject
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.verbs.api import Api

NOW = 1_800_000_000.0
DAY = 86_400.0


@pytest.fixture
async def cluster() -> StoreCluster:
    made = StoreCluster(Api(clock=LoopClock()))
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "volcano-system"}}
    await made.create(NAMESPACES, space)
    return made


def keeper(cluster: StoreCluster, *, days: float = 0.0) -> CertificateKeeper:
    """One replica whose clock stands so many days after the first."""
    clock = LoopClock(wall_at_zero=NOW + days * DAY)
    context = memory_context("admission", clock=clock, cluster=cluster)
    return CertificateKeeper(context, Config())


async def secret(cluster: StoreCluster) -> JsonObject:
    found = await cluster.get(SECRETS, name="volcano-admission-certs", namespace="volcano-system")
    data: JsonObject = found["data"]
    return data


async def test_replicas_that_start_together_agree(cluster: StoreCluster) -> None:
    bundles = await asyncio.gather(*(keeper(cluster).refresh() for _ in range(5)))
    assert len(set(bundles)) == 1


async def test_a_renewal_by_one_replica_reaches_the_other(cluster: StoreCluster) -> None:
    first, second = keeper(cluster), keeper(cluster, days=61)
    bundle = await first.refresh()
    before = await secret(cluster)
    assert await second.refresh() == bundle
    after = await secret(cluster)
    assert after["tls.crt"] != before["tls.crt"]
    assert after["ca.crt"] == before["ca.crt"]
    assert await first.refresh() == bundle
    assert await secret(cluster) == after


async def test_a_damaged_secret_is_repaired(cluster: StoreCluster) -> None:
    await keeper(cluster).refresh()
    await cluster.patch(
        SECRETS,
        {"data": {"tls.key": "bm8="}},
        name="volcano-admission-certs",
        namespace="volcano-system",
    )
    await keeper(cluster).refresh()
    assert (await secret(cluster))["tls.key"] != "bm8="

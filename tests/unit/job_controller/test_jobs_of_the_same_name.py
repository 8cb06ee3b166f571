"""Jobs of one name, one after the other: a stale look at one does nothing to the other's."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from tests.builders.contexts import memory_cluster, memory_context
from tests.unit.job_controller.builders import (
    NOW,
    TEMPLATE,
    UID,
    command,
    deleted,
    job,
    observed,
    owner,
    pod,
    podgroup,
    task,
)  # fmt: skip
from vc.clock import LoopClock, run_virtual
from vc.job_controller.logic import decide
from vc.messages.effects import DeleteObject
from vc.model.api.graft import to_json
from vc.model.api.job import Job
from vc.model.api.kinds import COMMANDS, JOBS, NAMESPACES, PODS, Kind
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod
from vc.runtime.applying.effects import EffectApplier, Outcome, OutcomeStatus
from vc.simcluster.cluster import StoreCluster


class Live:
    """An API server with a job `j`, and pods and commands of whichever job of that name."""

    def __init__(self, cluster: StoreCluster, applier: EffectApplier) -> None:
        self.cluster = cluster
        self.applier = applier

    async def make(self, kind: Kind, obj: ApiObject) -> Any:
        body = {**to_json(obj), "apiVersion": kind.api_version, "kind": kind.kind}
        if kind is PODS:
            body["spec"] = TEMPLATE["spec"]
        made = await self.cluster.create(kind, body, namespace="ns")
        return msgspec.convert(made, type=kind.type)

    async def names(self, kind: Kind) -> list[str]:
        page = await self.cluster.list(kind, namespace="ns")
        return [msgspec.json.decode(item)["metadata"]["name"] for item in page.items]

    async def act(self, of: Job, *pods: Pod, **others: Any) -> list[Outcome]:
        """What a replica does to pods that sees this, when there is no status to write first."""
        decision = decide(observed(of, *pods, podgroup=podgroup(), **others), now=NOW)
        to_pods = [e for e in decision.effects if getattr(e, "kind", None) is PODS]
        assert to_pods
        return await self.applier.apply(to_pods)


def run(test: Callable[[Live], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        clock = LoopClock(wall_at_zero=NOW)
        cluster = memory_cluster(clock)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
        await cluster.create(NAMESPACES, body)
        context = memory_context("job-controller", clock=clock, cluster=cluster)
        await test(Live(cluster, EffectApplier(context)))

    run_virtual(main())


def of_uid(of: Job, uid: str) -> Job:
    return msgspec.structs.replace(
        of, metadata=msgspec.structs.replace(of.metadata, uid=uid, resource_version="")
    )


@pytest.mark.parametrize("pods_seen", [True, False], ids=["its pods are seen", "they are not"])
def test_a_stale_replica_deletes_no_pod_of_the_newer_job(pods_seen: bool) -> None:
    async def test(live: Live) -> None:
        newer = await live.make(JOBS, of_uid(job(tasks=[task(replicas=2)]), ""))
        theirs = [await live.make(PODS, pod(i, job_uid=newer.metadata.uid)) for i in range(2)]
        stale = job(tasks=[task(replicas=2)])
        assert stale.metadata.uid == UID
        await live.act(stale, *(theirs if pods_seen else ()))
        assert await live.names(PODS) == ["j-worker-0", "j-worker-1"]

    run(test)


def test_pods_of_an_earlier_job_go_once_it_is_proven_gone() -> None:
    async def test(live: Live) -> None:
        newer = await live.make(JOBS, of_uid(job(tasks=[task(replicas=2)]), ""))
        left = [await live.make(PODS, pod(i, job_uid="gone")) for i in range(2)]
        seen = msgspec.structs.replace(job(tasks=[task(replicas=2)]), metadata=newer.metadata)
        group = msgspec.structs.replace(
            podgroup().metadata, owner_references=[owner(seen.metadata.uid)]
        )
        decision = decide(
            observed(seen, *left, podgroup=msgspec.structs.replace(podgroup(), metadata=group)),
            now=NOW,
        )
        ended = [e for e in decision.effects if isinstance(e, DeleteObject) and e.kind is PODS]
        outcomes = await live.applier.apply(ended)
        assert {o.status for o in outcomes} == {OutcomeStatus.DONE}
        pods = await live.cluster.list(PODS, namespace="ns")
        assert all("deletionTimestamp" in msgspec.json.decode(p)["metadata"] for p in pods.items)

    run(test)


def test_a_pod_that_changed_since_it_was_seen_is_looked_at_again() -> None:
    decision = decide(observed(job(), pod(0, job_uid="gone"), podgroup=podgroup()), now=NOW)
    assert deleted(decision) == ["j-worker-0"]
    (ended,) = [e for e in decision.effects if isinstance(e, DeleteObject)]
    assert ended.resource_version == pod(0).metadata.resource_version
    assert ended.only_if_live is not None


def test_a_command_for_a_newer_job_of_the_name_is_left_to_it() -> None:
    async def test(live: Live) -> None:
        newer = await live.make(JOBS, of_uid(job(), ""))
        order = await live.make(COMMANDS, command("AbortJob", target=newer.metadata.uid))
        decision = decide(observed(job("Running"), commands=(order,)), now=NOW)
        ended = [e for e in decision.effects if isinstance(e, DeleteObject) and e.kind is COMMANDS]
        (outcome,) = await live.applier.apply(ended)
        assert outcome.status is OutcomeStatus.STALE
        assert await live.names(COMMANDS) == [order.metadata.name]

    run(test)


def test_a_job_that_changed_since_its_time_was_over_is_not_deleted() -> None:
    async def test(live: Live) -> None:
        over = job("Completed", since=NOW - 100, ttl_seconds_after_finished=10)
        made = await live.make(JOBS, of_uid(over, ""))
        seen = msgspec.structs.replace(over, metadata=made.metadata)
        await live.cluster.patch(
            JOBS, {"metadata": {"labels": {"resumed": "yes"}}}, name="j", namespace="ns"
        )
        decision = decide(observed(seen, podgroup=podgroup()), now=NOW)
        ended = [e for e in decision.effects if isinstance(e, DeleteObject) and e.kind is JOBS]
        (outcome,) = await live.applier.apply(ended)
        assert outcome.status is OutcomeStatus.STALE
        assert await live.names(JOBS) == ["j"]

    run(test)

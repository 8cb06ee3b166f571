"""In-place resize: a pod that shrinks counts with its old request until the kubelet has applied the new one."""

import msgspec

from tests.unit.scheduling.objects import EPOCH, gang, group, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.dashboard.logic.amounts import pod_amounts
from vc.model.api.kinds import PODS
from vc.model.api.pod import ContainerStatus, Pod, ResourceRequirements
from vc.usage_ledger.logic.pod_account import account_of
from vc.watcher.logic import Decoder


def as_the_bus_has_it(body: Pod, *, actual: str, allocated: str) -> Pod:
    """Through the watcher's own projection."""
    running = ContainerStatus(
        name=body.spec.containers[0].name,
        allocated_resources={"cpu": allocated},
        resources=ResourceRequirements(requests={"cpu": actual}),
    )
    status = msgspec.structs.replace(body.status, phase="Running", container_statuses=[running])
    raw = msgspec.json.encode(msgspec.structs.replace(body, status=status))
    projected = Decoder(PODS).decode(raw)
    assert isinstance(projected, Pod)
    return projected


def shrinking(*, actual: str, allocated: str = "8") -> Pod:
    asks = pod("old-0", group="old", requests={"cpu": "8"}, on="node-01")
    return as_the_bus_has_it(asks, actual=actual, allocated=allocated)


def test_what_is_still_in_use_is_given_to_no_other_pod() -> None:
    world = World(
        queue(), nodes(1, cpu=64), group("old", minimum=1, phase="Running"),
        shrinking(actual="64"), gang("new", 1, cpu=56),
    )  # fmt: skip
    assert world.decide().bound_pods == 0
    world.put(shrinking(actual="8"))
    assert world.matters, "the end of a resize opens a session"
    assert world.decide().bound_pods == 1


def test_what_the_node_has_allocated_is_given_to_no_other_pod() -> None:
    world = World(
        queue(), nodes(1, cpu=64), group("old", minimum=1, phase="Running"),
        shrinking(actual="8", allocated="64"), gang("new", 1, cpu=56),
    )  # fmt: skip
    assert world.decide().bound_pods == 0


def test_a_queue_is_charged_for_what_is_in_use() -> None:
    world = World(
        queue(capability={"cpu": "64"}), nodes(2, cpu=64),
        group("old", minimum=1, phase="Running"), shrinking(actual="64"),
        gang("new", 1, cpu=56),
    )  # fmt: skip
    assert world.decide().bound_pods == 0


def test_the_dashboard_and_the_ledger_count_the_same() -> None:
    held = shrinking(actual="64")
    assert pod_amounts(held.spec)["cpu"] == 64_000
    placed = msgspec.structs.replace(held.status, start_time="2026-01-01T00:00:00Z")
    account = account_of(
        msgspec.structs.replace(held, status=placed), scheduler_names=("volcano",), now=EPOCH
    )
    assert account is not None
    assert dict(account.requests)["cpu"] == 64_000

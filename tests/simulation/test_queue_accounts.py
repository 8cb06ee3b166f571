"""What queues tell of themselves and what the dashboard counts in their pods are the same numbers.

The scheduler writes the one from its columns, the dashboard adds the other up from a picture: two ways that
share no code, over the users' own manifests while some of them run.
"""

import msgspec

from tests.simulation.seeds import GROUND, SEEDS
from tests.simulation.stack import Stack
from tests.simulation.test_seeds import apply, seed_stack
from vc.clock import run_virtual
from vc.dashboard.logic.cluster_index import ClusterIndex, build_cluster_index
from vc.dashboard.logic.invariants import QUEUES_ALLOCATED, find
from vc.model.api import kinds
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject

TOLD_SECONDS_MAX = 3.0
"""Statuses are written once a second."""


def all_of(stack: Stack, kind: Kind) -> list[ApiObject]:
    listed = stack.api.list(stack.api.registry.for_kind(kind)).items
    return [msgspec.json.decode(raw, type=kind.type) for raw in listed]


def picture_of(stack: Stack) -> ClusterIndex:
    return build_cluster_index(
        jobs=all_of(stack, kinds.JOBS),
        groups=all_of(stack, kinds.PODGROUPS),
        pods=all_of(stack, kinds.PODS),
        queues=all_of(stack, kinds.QUEUES),
        nodes=all_of(stack, kinds.NODES),
    )


def test_queues_tell_what_the_dashboard_counts_in_their_pods() -> None:
    async def main() -> None:
        async with seed_stack() as stack:
            await apply(stack, GROUND)
            for seed in SEEDS:
                await apply(stack, seed.file)
            for _ in range(3):
                await stack.clock.sleep(20)
                cluster_index = picture_of(stack)
                wrong = [each for each in find(cluster_index) if each.invariant == QUEUES_ALLOCATED]
                if wrong:  # something ended a moment ago
                    await stack.clock.sleep(TOLD_SECONDS_MAX)
                    cluster_index = picture_of(stack)
                    wrong = [
                        each for each in find(cluster_index) if each.invariant == QUEUES_ALLOCATED
                    ]
                assert wrong == []
            assert len([q for q in cluster_index.queues.values() if q.status.allocated]) >= 3

    run_virtual(main())

"""Columns of the cluster cache: one per resource that nodes offer; sums do not depend on the order of facts."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.scheduling.objects import gang, group, node, nodes, pod, queue
from tests.unit.scheduling.world import World
from vc.model.api import kinds
from vc.model.api.node import Node
from vc.scheduling.cache import amount_columns
from vc.scheduling.cache.amount_columns import ALWAYS, RESOURCES_MAX, AmountColumns

GPU = "nvidia.com/gpu"


def offering(name: str, **more: str) -> Node:
    plain = node(name)
    allocatable = {**plain.status.allocatable, **more}
    status = msgspec.structs.replace(plain.status, allocatable=allocatable)
    return msgspec.structs.replace(plain, status=status)


def test_resource_names_on_pods_keep_no_new_node_from_being_used() -> None:
    wide = pod("wide", requests={f"example.com/r{n}": "1" for n in range(260)}, on="node-01")
    training = pod("train-0", group="train", requests={GPU: "1"})
    world = World(queue(), nodes(1), [wide, training, group("train", minimum=1)])
    world.session()
    assert world.bound("train") == 0
    assert list(world.cache.facts.nodes.amounts.resources) == list(ALWAYS)
    world.put(offering("new", **{GPU: "8"}))
    world.session()
    assert world.cache.problems == {}
    assert world.bound("train") == 1


def test_a_pod_that_was_there_before_its_node_offered_the_resource_counts() -> None:
    early = pod("early", requests={GPU: "8"}, on="new")
    training = pod("train-0", group="train", requests={GPU: "1"})
    world = World(queue(), [early, training, group("train", minimum=1)])
    world.put(offering("new", **{GPU: "8"}))
    world.session()
    assert world.bound("train") == 0, "all of them are taken"
    world.delete_pod("early")
    world.session()
    assert world.bound("train") == 1


def test_columns_of_nodes_that_are_gone_are_used_for_others() -> None:
    world = World(queue(), gang("g", 1, cpu=1))
    for turn in range(2 * RESOURCES_MAX):
        world.put(offering("changing", **{f"example.com/r{turn}": "1"}))
    assert len(world.cache.facts.nodes.amounts.resources) == len(ALWAYS) + 1
    assert world.cache.problems == {}
    world.delete(kinds.NODES, "changing")
    assert list(world.cache.facts.nodes.amounts.resources) == list(ALWAYS)


NAMES = ("cpu", "memory", "pods", "a", "b", "c", "d", "e")
AMOUNTS = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5), max_size=len(NAMES))
STEPS = st.lists(
    st.tuples(st.sampled_from(["offer", "withdraw", "add", "remove"]), st.integers(0, 70), AMOUNTS),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, columns_max=st.integers(3, 8))
def test_sums_are_those_of_a_plain_table(
    steps: list[tuple[str, int, dict[str, int]]], columns_max: int
) -> None:
    columns, offered = AmountColumns(), dict[int, dict[str, int]]()
    pods: dict[int, list[dict[str, int]]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(amount_columns, "RESOURCES_MAX", columns_max)
        for verb, row, amounts in steps:
            if verb == "offer":
                assert columns.offer(row, amounts) == (offered.get(row, {}) != amounts)
                offered[row] = amounts
            elif verb == "withdraw" and row in offered:
                columns.withdraw(row)
                del offered[row]
            elif verb == "add":
                columns.add(row, tuple(sorted(amounts.items())))
                pods.setdefault(row, []).append(amounts)
            elif verb == "remove" and pods.get(row):
                columns.remove(row, tuple(sorted(pods[row].pop().items())))
            _compare(columns, offered, pods, columns_max=columns_max)


def _compare(
    columns: AmountColumns,
    offered: dict[int, dict[str, int]],
    pods: dict[int, list[dict[str, int]]],
    *,
    columns_max: int,
) -> None:
    wanted = {*ALWAYS, *(name for amounts in offered.values() for name in amounts)}
    assert columns.resources.keys() <= wanted
    assert len(columns.resources) == min(len(wanted), columns_max)
    assert list(columns.resources.values()) == list(range(len(columns.resources)))
    for name, column in columns.resources.items():
        for row in range(columns.used.shape[0]):
            used = sum(amounts.get(name, 0) for amounts in pods.get(row, []))
            assert columns.used[row, column] == used
            assert columns.allocatable[row, column] == offered.get(row, {}).get(name, 0)

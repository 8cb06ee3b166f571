"""Quarantine: a group or object that raises in our own code is left out, and no other job waits for it."""

import importlib
from typing import Any

import pytest

from tests.unit.scheduling.objects import gang, node, queue
from vc.messages.view import Change
from vc.model.api.meta import ApiObject
from vc.model.compat import Compat
from vc.scheduling.cache.cluster_cache import KINDS, ClusterCache
from vc.scheduling.conf.model import Conf, default_conf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.framework.faults import quarantine_problem
from vc.scheduling.model.queue_ancestors import LEVELS_MAX, at_the_top, misplaced
from vc.scheduling.model.rows import GroupRow
from vc.scheduling.session.session import Session

allocating: Any = importlib.import_module("vc.scheduling.actions.allocate")
"""The module: its package has a function of this name."""

NOW = 1_800_000_000.0
KIND_OF = {kind.type: kind for kind in KINDS}


def cache_of(*objects: ApiObject) -> ClusterCache:
    cache = ClusterCache(("volcano",))
    for obj in objects:
        cache.apply(changed(obj))
    return cache


def changed(obj: ApiObject) -> Change:
    return Change(kind=KIND_OF[type(obj)], key=obj.key, partition=0, before=None, after=obj)


def conf() -> Conf:
    return default_conf(Compat.LENIENT)


@pytest.fixture
def odd_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Placing the group `odd` raises, as a fault of ours would make it."""
    real = allocating.place_minimum

    def place(session: Session, group: GroupRow, *rest: object) -> object:
        if group.name == "odd":
            raise OverflowError("odd")
        return real(session, group, *rest)

    monkeypatch.setattr(allocating, "place_minimum", place)


@pytest.mark.usefixtures("odd_group")
def test_the_session_is_held_without_the_group_that_broke_it() -> None:
    cache = cache_of(
        queue("default"), node("n"), *gang("odd", 1, cpu="1"), *gang("sound", 1, cpu="1")
    )
    decisions = run_cycle(cache.snapshot("1-1", now=NOW), conf(), NOW)
    (fault,) = decisions.left_out
    assert (fault.group.partition("/")[2], fault.why) == ("odd", "OverflowError: odd")
    assert [bind.name for gang_bind in decisions.binds for bind in gang_bind.binds] == [
        "sound-worker-0"
    ]
    reported = {job.group: job.reason.sentence for job in decisions.reasons}
    assert "the scheduler cannot decide about it" in reported[fault.group]


@pytest.mark.usefixtures("odd_group")
def test_the_next_session_begins_without_it_until_it_changes() -> None:
    cache = cache_of(
        queue("default"), node("n"), *gang("odd", 1, cpu="1"), *gang("sound", 1, cpu="1")
    )
    snapshot = cache.snapshot("1-1", now=NOW)
    (fault,) = run_cycle(snapshot, conf(), NOW).left_out
    cache.overlays.quarantine.put(snapshot.all_groups[fault.group], quarantine_problem(fault))
    assert run_cycle(cache.snapshot("1-2", now=NOW), conf(), NOW).left_out == ()
    for obj in gang("odd", 2, cpu="1"):  # one pod more
        cache.apply(changed(obj))
    assert len(run_cycle(cache.snapshot("1-3", now=NOW), conf(), NOW).left_out) == 1


def test_a_fault_at_every_group_is_not_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the action is left out, as before."""

    def fail(session: Session, group: GroupRow, *_: object) -> object:
        raise OverflowError("ours")

    monkeypatch.setattr(allocating, "place_minimum", fail)
    cache = cache_of(queue("default"), node("n"), *gang("a", 1, cpu="1"), *gang("b", 1, cpu="1"))
    decisions = run_cycle(cache.snapshot("1-1", now=NOW), conf(), NOW)
    assert [fault.action for fault in decisions.left_out] == ["allocate"]


def test_a_queue_tree_that_is_too_deep_is_cut_and_reported() -> None:
    parents = {f"q{n}": f"q{n - 1}" if n else "root" for n in range(1_000)}
    cut = at_the_top(parents)
    lengths: dict[str, int] = {}
    for name in parents:
        length, at = 0, name
        while at in parents and at not in cut:
            length, at = length + 1, parents[at]
        lengths[name] = length
    assert max(lengths.values()) <= LEVELS_MAX
    reported = misplaced(parents)
    assert f"q{LEVELS_MAX - 1}" not in reported
    assert "levels below the top" in reported["q999"]

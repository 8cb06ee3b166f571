"""Clock steps: when the API server's clock is set, backoffs and delays of the scheduler keep their length."""

import pytest

from tests.builders.contexts import memory_context
from vc.clock import LoopClock, ServerClock, run_virtual
from vc.scheduler.config import Config
from vc.scheduler.service import build
from vc.scheduling.cache.gang_times import GangTimes
from vc.scheduling.cache.overlays.bind_backoff import BindBackoff
from vc.scheduling.cache.overlays.enqueued import EnqueuedGroups
from vc.scheduling.cache.overlays.evictions import Evictions
from vc.scheduling.cache.overlays.pod_conditions import ConditionOverlay
from vc.scheduling.cache.volumes import VolumeChoices, VolumeTableBuilder
from vc.scheduling.model.decisions import Takeover
from vc.scheduling.model.nominations import ReservedNode

NOW = 1_800_000_000.0
HOUR = 3600.0
PLACE = ReservedNode(namespace="ns", name="p", uid="u", task="w", shape=b"", node="n", freed=True)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_every_timer_of_the_cache_moves(step: float) -> None:
    holds, evictions, volumes = BindBackoff(), Evictions(), VolumeTableBuilder(VolumeChoices())
    holds.failed("ns/p", "u", now=NOW)
    evictions.release_refused("ns/a", now=NOW)
    evictions.evictions_refused("ns/b", now=NOW)
    evictions.take_over(Takeover(group="ns/c", uid="g", reserved_nodes=(PLACE,), lost=()), now=NOW)
    volumes._given_at["ns/claim"] = NOW
    enqueued_groups = EnqueuedGroups(lambda _: None)
    enqueued_groups.put("ns/d", "g", {"cpu": 1}, now=NOW)
    for part in (holds, evictions, volumes, enqueued_groups):
        before = sorted(part.expiries())
        assert before
        part.shift(step)
        assert sorted(part.expiries()) == [at + step for at in before]


def test_a_bind_backoff_ends_when_it_would_have_ended() -> None:
    holds = BindBackoff()
    holds.failed("ns/p", "u", now=NOW)
    holds.shift(-HOUR)
    assert holds.active("u", NOW - HOUR + 0.9)
    assert not holds.active("u", NOW - HOUR + 1.1)


def test_conditions_and_gangs_move_too() -> None:
    conditions, gangs = ConditionOverlay(lambda _: None), GangTimes()
    conditions._rewritten_at["ns/a"] = NOW
    gangs._partial_since["ns/a"] = NOW
    for part in (conditions, gangs):
        part.shift(-HOUR)
    assert conditions.rewritten_at("ns/a") == NOW - HOUR
    assert gangs.partial_since() == {"ns/a": NOW - HOUR}


def test_the_shell_moves_them_once_when_the_clock_was_set() -> None:
    async def main() -> None:
        clock = ServerClock(LoopClock(wall_at_zero=NOW))
        scheduler = build(memory_context("scheduler", clock=clock), Config())
        scheduler._cache.overlays.bind_backoff.failed("ns/p", "u", now=NOW)
        (until,) = scheduler._cache.overlays.bind_backoff.expiries()
        scheduler._due_at = NOW + 5
        clock.moved_seconds -= HOUR
        for _ in range(2):
            scheduler._follow_clock()
            assert scheduler._cache.overlays.bind_backoff.expiries() == [until - HOUR]
            assert scheduler._due_at == NOW + 5 - HOUR

    run_virtual(main())

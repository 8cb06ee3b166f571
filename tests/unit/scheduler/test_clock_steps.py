"""When the API server's clock is set, what the scheduler waits for by itself takes as long as before."""

import pytest

from tests.builders.contexts import memory_context
from vc_clock import LoopClock, ServerClock, run_virtual
from vc_scheduler.config import Config
from vc_scheduler.logic.cache.gang_times import GangTimes
from vc_scheduler.logic.cache.let_in import LetIn
from vc_scheduler.logic.decisions import Takeover
from vc_scheduler.logic.evictions import Evictions
from vc_scheduler.logic.holds import Holds
from vc_scheduler.logic.nominations import Place
from vc_scheduler.logic.pod_status.overlay import ConditionOverlay
from vc_scheduler.logic.volumes import Choices, VolumeColumns
from vc_scheduler.service import build

NOW = 1_800_000_000.0
HOUR = 3600.0
PLACE = Place(namespace="ns", name="p", uid="u", role="w", shape=b"", node="n", freed=True)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_every_timer_of_the_cache_moves(step: float) -> None:
    holds, evictions, volumes = Holds(), Evictions(), VolumeColumns(Choices())
    holds.failed("ns/p", "u", now=NOW)
    evictions.release_refused("ns/a", now=NOW)
    evictions.evictions_refused("ns/b", now=NOW)
    evictions.take_over(Takeover(group="ns/c", uid="g", places=(PLACE,), lost=()), now=NOW)
    volumes._given_at["ns/claim"] = NOW
    let_in = LetIn(lambda _: None)
    let_in.put("ns/d", "g", {"cpu": 1}, now=NOW)
    for part in (holds, evictions, volumes, let_in):
        before = sorted(part.expiries())
        assert before
        part.shift(step)
        assert sorted(part.expiries()) == [at + step for at in before]


def test_a_hold_is_over_when_it_would_have_been() -> None:
    holds = Holds()
    holds.failed("ns/p", "u", now=NOW)
    holds.shift(-HOUR)
    assert holds.holds("u", NOW - HOUR + 0.9)
    assert not holds.holds("u", NOW - HOUR + 1.1)


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
        scheduler._columns._holds.failed("ns/p", "u", now=NOW)
        (until,) = scheduler._columns._holds.expiries()
        scheduler._due_at = NOW + 5
        clock.moved_seconds -= HOUR
        for _ in range(2):
            scheduler._follow_clock()
            assert scheduler._columns._holds.expiries() == [until - HOUR]
            assert scheduler._due_at == NOW + 5 - HOUR

    run_virtual(main())

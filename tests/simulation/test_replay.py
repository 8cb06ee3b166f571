"""Every session that the stack recorded can be run again to the same bytes, whatever happened to it."""

import pytest

from tests.simulation.stack import Stack, gang_job
from vc.clock import run_virtual
from vc.messages.sessions import SessionEntry
from vc.scheduling.record.replay import replay
from vc.snapshot.chains import ChainBrokenError, load_chain

ENTRIES_MAX = 1_000


async def replay_all(stack: Stack) -> list[SessionEntry]:
    """The newest first."""
    found = []
    for session_id in await stack.snapshot.session_ids(limit=ENTRIES_MAX):
        chain = await load_chain(stack.snapshot, session_id)
        assert replay(chain).same, f"session {session_id} decides something else"
        found.append(chain[-1])
    return found


def test_all_sessions_of_a_busy_stack_replay_to_the_same_bytes() -> None:
    async def main() -> None:
        async with Stack(seed=7) as stack:
            for number in range(6):
                await stack.submit(gang_job(f"job-{number}", replicas=3, run_seconds=4 + number))
                await stack.clock.sleep(0.7)
            stack.kill("scheduler")
            await stack.submit(gang_job("late", replicas=2, run_seconds=2))
            await stack.until(
                lambda: stack.job("late").status.state.phase == "Completed",
                seconds=300,
                what="the last job completes",
            )
            entries = await replay_all(stack)
            assert sum(entry.record.bound_pods for entry in entries) >= 20
            assert sum(not entry.previous for entry in entries) == 2, "a chain for each life"

    run_virtual(main())


def test_a_flushed_ring_begins_a_new_chain_and_a_lost_base_is_told() -> None:
    async def main() -> None:
        async with Stack(seed=8) as stack:
            await stack.submit(gang_job("first", replicas=2, run_seconds=3))
            await stack.clock.sleep(5)
            stack.snapshot.flush()
            await stack.submit(gang_job("second", replicas=2, run_seconds=3))
            await stack.clock.sleep(5)
            entries = await replay_all(stack)
            assert entries, "sessions after the flush are there"
            assert not entries[-1].previous
            assert len(entries) > 1
            base = entries[-1].record.session_id
            stack.snapshot._sessions.pop(base)
            with pytest.raises(ChainBrokenError, match=f"builds on session {base}"):
                await load_chain(stack.snapshot, entries[-2].record.session_id)
            assert await load_chain(stack.snapshot, base) == []

    run_virtual(main())

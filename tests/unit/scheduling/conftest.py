"""Every session of every scenario is recorded and replayed, and must give the same bytes."""

import pytest

from tests.unit.scheduling import world
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.record.frame_writer import FrameWriter
from vc.scheduling.record.replay import FrameReader, digest_of

FRAME_BYTES_MAX = 1 << 26


@pytest.fixture(autouse=True)
def replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One chain of frames a test, over all its worlds: any two snapshots have a difference."""
    writer, reader = FrameWriter(FRAME_BYTES_MAX), FrameReader()

    def run_twice(snapshot: Snapshot, conf: Conf, now: float) -> Decisions:
        reader.take(writer.frame(snapshot))
        decisions = run_cycle(snapshot, conf, now)
        again = run_cycle(reader.snapshot(), conf, now)
        assert digest_of(again) == digest_of(decisions), "a replay decides something else"
        return decisions

    monkeypatch.setattr(world, "run_cycle", run_twice)

"""Records of the sessions of a `World`, and their replay."""

from tests.unit.scheduling.world import World
from vc.messages.sessions import SessionEntry, SessionRecord, entry_bytes, entry_of
from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.model.decisions import Decisions
from vc.scheduling.record import frames
from vc.scheduling.record.frame_writer import FrameWriter
from vc.scheduling.record.reason_log import ReasonLog, Timing
from vc.scheduling.record.replay import digest_of, replay

BYTES_MAX = 1 << 24


class Recording:
    """A chain of entries from the first session on."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.entries: list[SessionEntry] = []
        self._writer = FrameWriter(BYTES_MAX)
        self._seen: Snapshot | None = None
        take = world.snapshot

        def snapshot() -> Snapshot:
            self._seen = take()
            return self._seen

        world.snapshot = snapshot  # type: ignore[method-assign]

    def session(self) -> Decisions:
        """Run one and record it."""
        conf, now = self.world.conf, self.world.now
        decisions = self.world.session()
        assert self._seen is not None
        entry = SessionEntry(
            record=_record(decisions),
            now=now,
            digest=digest_of(decisions),
            conf=frames.encoder.encode(conf),
            previous=self.entries[-1].record.session_id if self.entries else "",
            frame=self._writer.frame(self._seen),
            types=frames.types_digest(),
        )
        self.entries.append(entry_of(entry_bytes(entry)))
        return decisions

    def check(self) -> None:
        """Every session replays to the bytes it was recorded with."""
        for end in range(1, len(self.entries) + 1):
            replayed = replay(self.entries[:end])
            assert replayed.same, f"session {end} differs: {replayed.decisions}"


def _record(decisions: Decisions) -> SessionRecord:
    made = ReasonLog().record(decisions, Timing(started_at=0.0, took_ms=0.0))
    return made or SessionRecord(
        session_id=decisions.session_id, started_at=0.0, took_ms=0.0, nodes=0, groups=0,
        enqueued=[], bound_pods=0, placements=[], released=[], waiting=0, reasons=[], resolved=[],
        queues=[],
    )  # fmt: skip

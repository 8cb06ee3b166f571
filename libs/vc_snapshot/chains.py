"""Reads a session back from the ring, with everything its input builds on.

An entry's frame is the difference to that of the entry before it; the oldest of a chain may have left
the ring while the newest is still there. Then the session can be shown, but not run again.
"""

from typing import Final

from vc_messages.codec import CodecError
from vc_messages.sessions import SessionEntry, entry_of
from vc_snapshot.interface import SnapshotStore

CHAIN_ENTRIES_MAX: Final = 200
"""Read for one session; writers begin a new chain long before."""


class ChainBrokenError(ValueError):
    """What the session builds on is not there any more."""


async def load_entry(store: SnapshotStore, session_id: str) -> SessionEntry | None:
    """One session, or None when it is not (or no longer) in the ring, or cannot be read."""
    data = await store.session(session_id)
    if data is None:
        return None
    try:
        return entry_of(data)
    except CodecError:
        return None


async def load_chain(store: SnapshotStore, session_id: str) -> list[SessionEntry]:
    """From the base to the session itself; empty when the session is not in the ring."""
    entry = await load_entry(store, session_id)
    if entry is None:
        return []
    chain = [entry]
    while entry.previous:
        if len(chain) >= CHAIN_ENTRIES_MAX:
            raise ChainBrokenError(f"it builds on more than {CHAIN_ENTRIES_MAX} sessions")
        before = await load_entry(store, entry.previous)
        if before is None:
            raise ChainBrokenError(
                f"it builds on session {entry.previous}, which has left the ring"
            )
        chain.append(before)
        entry = before
    return chain[::-1]

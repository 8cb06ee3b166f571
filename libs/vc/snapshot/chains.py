"""Reads a session from the ring, with all entries that its input depends on.

An entry's frame is the difference to that of the entry before it. The oldest entry of a chain may
have left the ring while the newest is still there. Then the session can be shown, but not replayed.
"""

from typing import Final

from vc.messages.codec import CodecError
from vc.messages.sessions import SessionEntry, entry_of
from vc.snapshot.interface import SnapshotStore

CHAIN_ENTRIES_MAX: Final = 200
"""Limit of entries read for one session; writers begin a new chain long before."""


class ChainBrokenError(ValueError):
    """An entry that the session depends on is no longer in the ring."""


async def load_entry(store: SnapshotStore, session_id: str) -> SessionEntry | None:
    """One session; None if it is not in the ring or cannot be decoded."""
    data = await store.session(session_id)
    if data is None:
        return None
    try:
        return entry_of(data)
    # Damaged, or of another release. In a cache that is the same as absent.
    except CodecError:
        return None


async def load_chain(store: SnapshotStore, session_id: str) -> list[SessionEntry]:
    """The entries from the base to the session itself; empty if the session is not in the ring."""
    entry = await load_entry(store, session_id)
    if entry is None:
        return []
    chain = [entry]
    while entry.previous:
        # Damaged entries may refer to each other in a circle, which this loop would never leave.
        if len(chain) >= CHAIN_ENTRIES_MAX:
            raise ChainBrokenError(f"it builds on more than {CHAIN_ENTRIES_MAX} sessions")
        before = await load_entry(store, entry.previous)
        # The ring drops its oldest entries, so the base of a chain is lost first.
        if before is None:
            raise ChainBrokenError(
                f"it builds on session {entry.previous}, which has left the ring"
            )
        chain.append(before)
        entry = before
    return chain[::-1]

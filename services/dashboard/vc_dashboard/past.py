"""Sessions in the ring: one in full, one again, and the configuration of the newest."""

import time
from typing import Final

from vc_dashboard.config import Config
from vc_dashboard.heavy import HeavyWork
from vc_dashboard.logic.future_answers import SessionDetail, SessionReplay
from vc_dashboard.logic.reason_answers import answered_record
from vc_dashboard.logic.sessions import SESSIONS_MAX, row_of
from vc_messages.sessions import SessionEntry
from vc_model.kinds import CONFIGMAPS
from vc_model.kubernetes import ConfigMap
from vc_model.meta import object_key
from vc_runtime.context import Context
from vc_runtime.follower import Follower
from vc_scheduler.logic import actions, plugins
from vc_scheduler.logic.conf import Conf, default_conf
from vc_scheduler.logic.conf_file import ConfError, read_conf
from vc_scheduler.logic.frames import FrameError, types_digest
from vc_scheduler.logic.replaying import conf_of, replay
from vc_snapshot import SnapshotUnavailableError
from vc_snapshot.chains import ChainBrokenError, load_chain, load_entry

MILLISECONDS: Final = 1000


class NotReplayableError(Exception):
    """The session is there, or was, and cannot be run again; says why."""


class Past:
    """Reads the ring of the snapshot store."""

    def __init__(self, context: Context, heavy: HeavyWork, config: Config) -> None:
        self._context = context
        self._config = config
        self._heavy = heavy
        self._conf: tuple[str, Conf] | None = None
        """Of which session, and what it was told."""

    async def detail(self, session_id: str) -> SessionDetail | None:
        """A session in full; None when it is not in the ring."""
        entry = await load_entry(self._context.snapshot, session_id)
        if entry is None:
            return None
        why_not = entry.left_out or await self._why_not(entry)
        try:
            told = list(conf_of(entry).actions)
        except FrameError:
            told = []
        return SessionDetail(
            session=row_of(entry.record, kept=True),
            record=answered_record(entry.record),
            actions=told,
            digest=entry.digest,
            release=entry.release,
            replayable=not why_not,
            why_not=why_not,
        )

    async def _why_not(self, entry: SessionEntry) -> str:
        if entry.types != types_digest():
            return f"written by another release ({entry.release}) with other types"
        try:
            await load_chain(self._context.snapshot, entry.record.session_id)
        except ChainBrokenError as error:
            return str(error)
        return ""

    async def kept(self) -> frozenset[str]:
        """The sessions that are in the ring; none while the store is away."""
        try:
            return frozenset(await self._context.snapshot.session_ids(limit=SESSIONS_MAX))
        except SnapshotUnavailableError as error:
            self._context.log.info("sessions in the ring: %s", error)
            return frozenset()

    async def again(self, session_id: str) -> SessionReplay | None:
        """Run it again; None when it is not in the ring."""
        try:
            chain = await load_chain(self._context.snapshot, session_id)
            return await self._heavy.run(_replayed, chain) if chain else None
        except (ChainBrokenError, FrameError) as error:
            raise NotReplayableError(f"session {session_id}: {error}") from None

    async def conf(self, follower: Follower) -> tuple[Conf, str]:
        """What the newest session was told; else the ConfigMap's; else the defaults. And which."""
        try:
            newest = await self._context.snapshot.session_ids(limit=1)
            if newest and (self._conf is None or self._conf[0] != newest[0]):
                entry = await load_entry(self._context.snapshot, newest[0])
                self._conf = (newest[0], conf_of(entry)) if entry is not None else self._conf
        except (SnapshotUnavailableError, FrameError) as error:
            self._context.log.info("configuration of the newest session: %s", error)
        if self._conf is not None:
            return self._conf[1], f"the configuration of session {self._conf[0]}"
        return _conf_of_map(follower, self._context.namespace, self._config)


def _conf_of_map(follower: Follower, namespace: str, config: Config) -> tuple[Conf, str]:
    key, data_key = object_key(namespace, config.conf_map), config.conf_key
    found = follower.view.get(CONFIGMAPS, key)
    if isinstance(found, ConfigMap) and data_key in found.data:
        try:
            conf, _ = read_conf(
                found.data[data_key],
                actions=tuple(sorted(actions.REGISTRY)),
                plugins=tuple(sorted(plugins.REGISTRY)),
            )
        except ConfError:
            pass
        else:
            return conf, f"ConfigMap {key}"
    return default_conf(config.compat), "the default configuration"


def _replayed(chain: list[SessionEntry]) -> SessionReplay:
    began = time.perf_counter()
    replayed = replay(chain)
    decisions = replayed.decisions
    return SessionReplay(
        session_id=decisions.session_id,
        same=replayed.same,
        recorded=chain[-1].digest,
        replayed=replayed.digest,
        nodes=decisions.nodes,
        groups=decisions.groups,
        enqueued=list(decisions.enqueued),
        bound_pods=decisions.bound_pods,
        evicted_pods=sum(len(eviction.pods) for eviction in decisions.evictions),
        waiting=len(decisions.reasons),
        took_ms=(time.perf_counter() - began) * MILLISECONDS,
    )

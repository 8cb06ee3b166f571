"""The session store: one session in full, its replay, and the configuration of the newest one."""

import time
from typing import Final

from vc.dashboard.config import Config
from vc.dashboard.logic.answers.future_answers import SessionDetail, SessionReplay
from vc.dashboard.logic.answers.reason_answers import answered_record
from vc.dashboard.logic.sessions import SESSIONS_MAX, row_of
from vc.dashboard.worker import Worker
from vc.messages.sessions import SessionEntry
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.kubernetes import ConfigMap
from vc.model.api.meta import object_key
from vc.runtime.consuming.follower import Follower
from vc.runtime.hosting.context import Context
from vc.scheduling.conf.model import Conf, default_conf
from vc.scheduling.conf.volcano_file import ConfError
from vc.scheduling.conf_reader import conf_text, read_conf_text
from vc.scheduling.record.frames import FrameError, refusal
from vc.scheduling.record.replay import conf_of, replay
from vc.snapshot import SnapshotUnavailableError
from vc.snapshot.chains import ChainBrokenError, load_chain, load_entry

MILLISECONDS: Final = 1000


class NotReplayableError(Exception):
    """The session exists or existed and cannot be replayed, with the reason."""


class SessionStore:
    """Reads the ring of sessions in the snapshot store."""

    def __init__(self, context: Context, worker: Worker, config: Config) -> None:
        self._context = context
        self._config = config
        self._worker = worker
        self._conf: tuple[str, Conf] | None = None
        """Id of the session and its configuration."""

    async def detail(self, session_id: str) -> SessionDetail | None:
        """A session in full, or None if it is not in the ring."""
        entry = await load_entry(self._context.snapshot, session_id)
        if entry is None:
            return None
        why_not = entry.left_out or await self._why_not(entry)
        try:
            actions = list(conf_of(entry).actions)
        # The record can be read without the configuration, so the session is shown without actions.
        except FrameError:
            actions = []
        return SessionDetail(
            session=row_of(entry.record, kept=True),
            record=answered_record(entry.record),
            actions=actions,
            digest=entry.digest,
            release=entry.release,
            replayable=not why_not,
            why_not=why_not,
        )

    async def _why_not(self, entry: SessionEntry) -> str:
        # Types of another release may decode to other values, and a replay would differ silently.
        if refused := refusal(entry.types, entry.release):
            return refused
        try:
            await load_chain(self._context.snapshot, entry.record.session_id)
        except ChainBrokenError as error:
            return str(error)
        return ""

    async def kept(self) -> frozenset[str]:
        """The sessions in the ring, or none while the store is unavailable."""
        try:
            return frozenset(await self._context.snapshot.session_ids(limit=SESSIONS_MAX))
        except SnapshotUnavailableError as error:
            self._context.log.info("sessions in the ring: %s", error)
            return frozenset()

    async def again(self, session_id: str) -> SessionReplay | None:
        """Replay a session, or None if it is not in the ring."""
        try:
            chain = await load_chain(self._context.snapshot, session_id)
            return await self._worker.run(_replayed, chain) if chain else None
        except (ChainBrokenError, FrameError) as error:
            raise NotReplayableError(f"session {session_id}: {error}") from None

    async def conf(self, follower: Follower) -> tuple[Conf, str]:
        """The configuration of the newest session, else of the ConfigMap,
        else the default; and its source."""
        try:
            newest = await self._context.snapshot.session_ids(limit=1)
            # The configuration rarely changes, so it is read once per session id.
            if newest and (self._conf is None or self._conf[0] != newest[0]):
                entry = await load_entry(self._context.snapshot, newest[0])
                self._conf = (newest[0], conf_of(entry)) if entry is not None else self._conf
        except (SnapshotUnavailableError, FrameError) as error:
            self._context.log.info("configuration of the newest session: %s", error)
        # The last known configuration is better than the ConfigMap, which may not be applied yet.
        if self._conf is not None:
            return self._conf[1], f"the configuration of session {self._conf[0]}"
        return _conf_of_map(follower, self._context.namespace, self._config)


def _conf_of_map(follower: Follower, namespace: str, config: Config) -> tuple[Conf, str]:
    key, data_key = object_key(namespace, config.conf_map), config.conf_key
    found = follower.view.get(CONFIGMAPS, key)
    if isinstance(found, ConfigMap):
        try:
            conf, _ = read_conf_text(conf_text(found, key=data_key))
        # An invalid configuration leads to the default below.
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

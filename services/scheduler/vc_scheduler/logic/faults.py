"""Plugins and actions that raise: whose fault it was, and what a session does without them.

A session that somebody's code broke is run again from the snapshot without that code: nothing half done
is left, and the result is a function of the input as always. Leaving an action out only means that
less is done. So does leaving out a plugin, except those that say what must not be done; when one of these
raises, the session decides nothing.
"""

from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Final

import msgspec

from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.decisions import Decisions, LeftOut
from vc_scheduler.logic.framework import Plugin, PluginFailedError
from vc_scheduler.logic.snapshot import Snapshot

ESSENTIAL: Final = ("gang", "predicates", "proportion", "capacity", "conformance")
"""Without these, gangs would be torn, nodes and queues overrun: rather nothing is decided."""

RETRY_SECONDS: Final = 5.0
"""When a session that decided nothing is tried again, should nothing happen before."""

_TEXT_MAX: Final = 300


Named = Sequence[tuple[str, Plugin]]
"""Plugins by the names that the configuration has for them, which need not be their own."""


def blame(error: BaseException, plugins: Named, action: str) -> LeftOut:
    """The plugin whose method raised, or whose answer could not be used; else the action."""
    if isinstance(error, PluginFailedError):
        cause = error.__cause__ or error
        return LeftOut(plugin=error.name, why=_text(cause))
    name = _plugin_of(error.__traceback__, plugins)
    return LeftOut(plugin=name, action="" if name else action, why=_text(error))


def without(conf: Conf, left_out: LeftOut) -> Conf | None:
    """The configuration without what raised; None when nothing may be decided without it."""
    if left_out.plugin in ESSENTIAL or not (left_out.plugin or left_out.action):
        return None
    return msgspec.structs.replace(
        conf,
        actions=tuple(name for name in conf.actions if name != left_out.action),
        tiers=tuple(
            tuple(plugin for plugin in tier if plugin.name != left_out.plugin)
            for tier in conf.tiers
        ),
    )


def nothing(snapshot: Snapshot, left_out: list[LeftOut], now: float) -> Decisions:
    """A session that decides nothing, and is tried again."""
    return Decisions(
        session_id=snapshot.session_id,
        nodes=snapshot.nodes.count,
        groups=len(snapshot.groups),
        enqueued=(),
        binds=(),
        releases=(),
        evictions=(),
        withdrawals=(),
        claims=(),
        statuses=(),
        reasons=(),
        queues=(),
        wake_at=now + RETRY_SECONDS,
        left_out=tuple(left_out),
    )


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_TEXT_MAX]


def _plugin_of(trace: TracebackType | None, plugins: Named) -> str:
    """Of the innermost call that a plugin made or that was made of it."""
    frames: list[FrameType] = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        near = [frame.f_locals.get("self"), *frame.f_locals.values()]
        named = [name for value in near for name, plugin in plugins if value is plugin]
        module = frame.f_globals.get("__name__")
        named += [name for name, plugin in plugins if type(plugin).__module__ == module]
        if named:
            return named[0]
    return ""

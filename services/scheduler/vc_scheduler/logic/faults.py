"""Plugins and actions that raise: whose fault it was, and what a session does without them.

A session that somebody's code broke is run again from the snapshot without that code: nothing half done
is left, and the result is a function of the input as always. Leaving an action out only means that
less is done. So does leaving out a plugin, except those that say what must not be done; when one of these
raises, the session decides nothing.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from types import FrameType, TracebackType
from typing import Final

import msgspec

from vc_scheduler.logic.conf import Conf
from vc_scheduler.logic.decisions import Decisions, LeftOut
from vc_scheduler.logic.framework import Plugin, PluginFailedError
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.snapshot import Snapshot

ESSENTIAL: Final = ("gang", "predicates", "proportion", "capacity", "conformance")
"""Without these, gangs would be torn, nodes and queues overrun: rather nothing is decided."""

RETRY_SECONDS: Final = 5.0
"""When a session that decided nothing is tried again, should nothing happen before."""

ASIDE_MAX: Final = 8
"""Groups set aside in one session: each costs another run. The next session begins without them."""

_TEXT_MAX: Final = 300


Named = Sequence[tuple[str, Plugin]]
"""Plugins by the names that the configuration has for them, which need not be their own."""


def blame(error: BaseException, plugins: Named, action: str) -> LeftOut:
    """The plugin whose method raised, or whose answer could not be used; else the action."""
    if isinstance(error, PluginFailedError):
        cause = error.__cause__ or error
        return LeftOut(plugin=error.name, why=_text(cause))
    frames = _frames(error.__traceback__)
    name = _plugin_of(frames, plugins)
    group = _group_of(frames) if not name or name in ESSENTIAL else ""
    return LeftOut(plugin=name, action="" if name else action, group=group, why=_text(error))


def may_set_aside(fault: LeftOut, aside: Mapping[str, LeftOut]) -> bool:
    """Whether the session is held once more without the group it failed at."""
    return bool(fault.group) and fault.group not in aside and len(aside) < ASIDE_MAX


def all_aside(snapshot: Snapshot, aside: Mapping[str, LeftOut]) -> bool:
    """Whether no group could be decided on: then the groups are not to blame."""
    return bool(aside) and all(
        group.key in aside or group.problem or not group.runs for group in snapshot.groups
    )


def without_groups(snapshot: Snapshot, aside: Mapping[str, LeftOut]) -> Snapshot:
    """The snapshot in which these groups cannot be used, and say why; what they have still counts."""
    if not aside:
        return snapshot
    rows = tuple(
        msgspec.structs.replace(group, problem=set_aside_problem(aside[group.key]), runs=())
        if group.key in aside
        else group
        for group in snapshot.groups
    )
    return dataclasses.replace(snapshot, groups=rows)


def set_aside_problem(fault: LeftOut) -> str:
    """What its owner is told."""
    return f"the scheduler cannot decide about it: {fault.why}"


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


def _frames(trace: TracebackType | None) -> list[FrameType]:
    """Innermost first."""
    frames: list[FrameType] = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames[::-1]


def _group_of(frames: list[FrameType]) -> str:
    """The group that the innermost call was about; empty when it was about none, or about many."""
    for frame in frames:
        rows = {v.key for v in frame.f_locals.values() if isinstance(v, GroupRow)}
        if rows:
            return rows.pop() if len(rows) == 1 else ""
    return ""


def _plugin_of(frames: list[FrameType], plugins: Named) -> str:
    """Of the innermost call that a plugin made or that was made of it."""
    for frame in frames:
        near = [frame.f_locals.get("self"), *frame.f_locals.values()]
        named = [name for value in near for name, plugin in plugins if value is plugin]
        module = frame.f_globals.get("__name__")
        named += [name for name, plugin in plugins if type(plugin).__module__ == module]
        if named:
            return named[0]
    return ""

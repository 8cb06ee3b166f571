"""Finds the plugin or action that raised, and runs the session without it.

A session that fails in the code of a plugin or action is run again from the snapshot without that
code. So nothing half done remains, and the result is a function of the input as always. Without an
action less is done. The same is true of most plugins, but not for those that prevent wrong
decisions; if one of these raises, the session decides nothing.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from types import FrameType, TracebackType
from typing import Final

import msgspec

from vc.scheduling.cache.snapshot import Snapshot
from vc.scheduling.conf.model import Conf
from vc.scheduling.framework.extension_point import Plugin
from vc.scheduling.framework.registry import PluginFailedError
from vc.scheduling.model.decisions import Decisions, LeftOut
from vc.scheduling.model.rows import GroupRow

ESSENTIAL: Final = ("gang", "predicates", "proportion", "capacity", "conformance")
"""Without these plugins gangs would be split, and nodes and queues overcommitted. If one of them
raises, the session decides nothing."""

RETRY_SECONDS: Final = 5.0
"""Delay until a session that decided nothing is tried again without an event."""

QUARANTINED_MAX: Final = 8
"""The maximum number of groups quarantined in one session, because each costs another run. The next
session starts without them."""

_TEXT_MAX: Final = 300


Named = Sequence[tuple[str, Plugin]]
"""Plugins by the names that the configuration uses for them. These may differ from their own names."""


def blame(error: BaseException, plugins: Named, action: str) -> LeftOut:
    """The plugin whose method raised or returned an unusable result; otherwise the action."""
    if isinstance(error, PluginFailedError):
        cause = error.__cause__ or error
        return LeftOut(plugin=error.name, why=_text(cause))
    frames = _frames(error.__traceback__)
    name = _plugin_of(frames, plugins)
    # An optional plugin is left out as a whole. Other code is needed, so the group it failed on is
    # left out.
    group = _group_of(frames) if not name or name in ESSENTIAL else ""
    return LeftOut(plugin=name, action="" if name else action, group=group, why=_text(error))


def may_quarantine(fault: LeftOut, quarantined: Mapping[str, LeftOut]) -> bool:
    """Whether the session is run again without the group on which it failed."""
    return (
        bool(fault.group) and fault.group not in quarantined and len(quarantined) < QUARANTINED_MAX
    )


def all_quarantined(snapshot: Snapshot, quarantined: Mapping[str, LeftOut]) -> bool:
    """Whether no group is left to decide on. Then the groups are not the cause."""
    return bool(quarantined) and all(
        group.key in quarantined or group.problem or not group.runs for group in snapshot.groups
    )


def without_groups(snapshot: Snapshot, quarantined: Mapping[str, LeftOut]) -> Snapshot:
    """The snapshot with these groups marked as problems. Their resources still count."""
    if not quarantined:
        return snapshot
    rows = tuple(
        # Without runs no action tries the group, and the problem becomes its reason.
        msgspec.structs.replace(group, problem=quarantine_problem(quarantined[group.key]), runs=())
        if group.key in quarantined
        else group
        for group in snapshot.groups
    )
    return dataclasses.replace(snapshot, groups=rows)


def quarantine_problem(fault: LeftOut) -> str:
    """The problem text reported to the owner of the group."""
    return f"the scheduler cannot decide about it: {fault.why}"


def without(conf: Conf, left_out: LeftOut) -> Conf | None:
    """The configuration without what raised; None if no decision is safe without it."""
    # An essential plugin cannot be left out, and a fault without a name leaves nothing to omit.
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
    """The result of a session that decides nothing and is tried again."""
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
    """The frames of a traceback, innermost first."""
    frames: list[FrameType] = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames[::-1]


def _group_of(frames: list[FrameType]) -> str:
    """The group that the innermost call concerned; empty if it concerned none or several."""
    for frame in frames:
        rows = {v.key for v in frame.f_locals.values() if isinstance(v, GroupRow)}
        if rows:
            # With several groups the frame does not show which one failed.
            return rows.pop() if len(rows) == 1 else ""
    return ""


def _plugin_of(frames: list[FrameType], plugins: Named) -> str:
    """The plugin of the innermost frame that belongs to a plugin or has one among its variables."""
    for frame in frames:
        near = [frame.f_locals.get("self"), *frame.f_locals.values()]
        named = [name for value in near for name, plugin in plugins if value is plugin]
        # Helper functions of a plugin have no `self`, but share its module.
        module = frame.f_globals.get("__name__")
        named += [name for name, plugin in plugins if type(plugin).__module__ == module]
        if named:
            return named[0]
    return ""

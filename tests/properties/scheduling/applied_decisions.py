"""Decisions of a session applied to pods, for tests that compare sessions with the reference."""

from collections.abc import Sequence

import msgspec

from tests.reference.completed import done_and_gone
from tests.unit.scheduling.objects import GROUP, TASK
from tests.unit.scheduling.world import World
from vc.model.api.scheduling import PodGroup
from vc.model.values.times import format_time
from vc.scheduling.model.decisions import Decisions


def note_minimums(world: World, met_at: dict[str, float]) -> None:
    """After a session: which jobs have got their minimum; one all of whose pods wait has to get it again."""
    for job in [obj for obj in world.objects() if isinstance(obj, PodGroup)]:
        name = job.metadata.name
        mine = [p for p in world.pods() if p.metadata.annotations.get(GROUP) == name]
        there = [p for p in mine if p.spec.node_name and p.status.phase != "Failed"]
        roles = [p.metadata.labels.get(TASK, "") for p in there]
        gone = done_and_gone(job, mine)
        if _is_whole(job, [*roles, *gone]):
            # Also where completed members alone are enough: its condition Scheduled is from now.
            met_at.setdefault(job.key, world.now)
        elif not there and not gone:
            met_at.pop(job.key, None)


def _is_whole(job: PodGroup, roles: Sequence[str]) -> bool:
    """Whether members of these tasks make up its minimum."""
    spec = job.spec
    applies = sum(spec.min_task_member.values()) <= spec.min_member
    least = spec.min_task_member if applies else {}
    enough = all(roles.count(role) >= count for role, count in least.items())
    return enough and 0 < spec.min_member <= len(roles)


def note_claims(decisions: Decisions, claims: dict[str, dict[str, int]]) -> None:
    """After a session: what jobs were enqueued with."""
    for group in decisions.enqueued_groups:
        claims[group.group] = dict(group.claim)


def start(world: World) -> None:
    """The nodes start what was bound: from now on it has run time to lose."""
    for running in world.pods():
        if running.spec.node_name and running.status.start_time is None:
            status = msgspec.structs.replace(running.status, start_time=format_time(world.now))
            world.put(msgspec.structs.replace(running, status=status))

"""What happens to pods after a session, and what is known of it, for tests that hold sessions against others."""

import msgspec

from tests.unit.scheduler.objects import GROUP, TASK
from tests.unit.scheduler.world import World
from vc_model.scheduling import PodGroup
from vc_model.times import format_time
from vc_scheduler.logic.decisions import Decisions


def note_minimums(world: World, met_at: dict[str, float]) -> None:
    """After a session: which jobs have got their minimum; one all of whose pods wait has to get it again."""
    for job in [obj for obj in world.objects() if isinstance(obj, PodGroup)]:
        name, spec = job.metadata.name, job.spec
        mine = [p for p in world.pods() if p.metadata.annotations.get(GROUP) == name]
        there = [p for p in mine if p.spec.node_name and p.status.phase != "Failed"]
        roles = [p.metadata.labels.get(TASK) for p in there]
        applies = sum(spec.min_task_member.values()) <= spec.min_member
        least = spec.min_task_member if applies else {}
        if 0 < spec.min_member <= len(there) and all(roles.count(r) >= n for r, n in least.items()):
            met_at.setdefault(job.key, world.now)
        elif not there:
            met_at.pop(job.key, None)


def note_claims(decisions: Decisions, claims: dict[str, dict[str, int]]) -> None:
    """After a session: what jobs were let in with."""
    for group in decisions.let_in:
        claims[group.group] = dict(group.claim)


def start(world: World) -> None:
    """The nodes start what was bound: from now on it has run time to lose."""
    for running in world.pods():
        if running.spec.node_name and running.status.start_time is None:
            status = msgspec.structs.replace(running.status, start_time=format_time(world.now))
            world.put(msgspec.structs.replace(running, status=status))

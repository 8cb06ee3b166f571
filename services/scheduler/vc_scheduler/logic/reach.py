"""What evictions cannot give, whoever goes: nodes that the job may use, and that are large enough.

Cheap to ask, and asked before anything is tried: a job whose selector no node has would be tried in
every session, in vain.
"""

from vc_scheduler.logic.placing import Missing
from vc_scheduler.logic.rows import GroupRow
from vc_scheduler.logic.session import Session


def within_reach(session: Session, group: GroupRow, missing: Missing) -> bool:
    """Whether empty nodes had room for what it lacks, each part of it by itself; an upper bound."""
    for role, count in missing:
        runs = [run for run in group.runs if role in (None, run.role)]
        if sum(min(len(run.pods), session.rooms.most(run.shape)) for run in runs) < count:
            return False
    return True

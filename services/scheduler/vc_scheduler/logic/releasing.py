"""Gangs that a crash or a failed bind left half bound (protocol 14).

They are completed first (`actions.allocate`). One that cannot be completed within
`GANG_RELEASE_SECONDS` gives its nodes back: its bound pods are evicted, marked so that policies and
retryCount see no eviction. Pods without a controller are never deleted: nobody would make them anew.
"""

from typing import Final

from vc_scheduler.logic.session import Session

GANG_RELEASE_SECONDS: Final = 60.0


def release_broken_gangs(session: Session) -> None:
    """Release what is overdue; ask to be woken for what is not."""
    groups = {group.key: group for group in session.snapshot.groups}
    for key, since in session.snapshot.partial_since.items():
        group = groups.get(key)
        if group is None or not session.starving(group):
            continue
        if session.now < since + GANG_RELEASE_SECONDS:
            session.wake(since + GANG_RELEASE_SECONDS)
            continue
        pods = [pod for pod in group.placed if pod.controlled and pod.ours]
        if pods and key not in session.snapshot.release_backoff:
            session.released[key] = pods

"""Release half-bound gangs, which a crash or a failed bind left behind (docs/protocol.md 14).

The action allocate completes such gangs first. If a gang cannot be completed within
`GANG_RELEASE_SECONDS`, its bound pods are evicted. They are marked, so that lifecycle policies and
retryCount ignore the eviction. Pods without a controller are never deleted, because no controller
would create them again.
"""

from typing import Final

from vc.scheduling.session.session import Session

GANG_RELEASE_SECONDS: Final = 60.0


def release_broken_gangs(session: Session) -> None:
    """Release half-bound gangs whose time is over, and register a wake-up for the others."""
    groups = {group.key: group for group in session.snapshot.groups}
    for key, since in session.snapshot.partial_since.items():
        group = groups.get(key)
        if group is None or not session.starving(group):
            continue
        if session.now < since + GANG_RELEASE_SECONDS:
            session.wake(since + GANG_RELEASE_SECONDS)
            continue
        pods = [pod for pod in group.placed if pod.controlled and pod.ours]
        # A gang is in backoff if the API server refused to evict its members before.
        if pods and key not in session.snapshot.evictions.release_backoff:
            session.decided.release(group, pods)

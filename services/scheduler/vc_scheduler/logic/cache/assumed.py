"""Binds that were sent and that no fact shows yet (protocol 13)."""

from collections.abc import Mapping

import msgspec

from vc_scheduler.logic.rows import PodRow


class Assumed(msgspec.Struct, frozen=True, kw_only=True):
    """A bind we sent and have not seen."""

    key: str
    uid: str
    node: str


def forget_absent(assumed: dict[str, Assumed], pods: Mapping[str, PodRow]) -> None:
    """The view is complete: binds of pods that are not in it are settled. `assumed` is by pod uid."""
    for uid, bind in list(assumed.items()):
        if (row := pods.get(bind.key)) is None or row.uid != uid:
            del assumed[uid]

"""Assumed binds: binds that were sent and that no fact shows yet (docs/protocol.md 13)."""

from collections.abc import Mapping

import msgspec

from vc.scheduling.model.rows import PodRow


class Assumed(msgspec.Struct, frozen=True, kw_only=True):
    """A bind that was sent and is not observed."""

    key: str
    uid: str
    node: str


def forget_absent(assumed: dict[str, Assumed], pods: Mapping[str, PodRow]) -> None:
    """The view is complete: remove assumed binds of pods that are not in it. `assumed` is by pod uid."""
    for uid, bind in list(assumed.items()):
        if (row := pods.get(bind.key)) is None or row.uid != uid:
            del assumed[uid]

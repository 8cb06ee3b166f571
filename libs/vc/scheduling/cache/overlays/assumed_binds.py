"""Assumed binds: binds that were sent and that no fact shows yet (docs/protocol.md 13)."""

from collections.abc import Mapping

import msgspec

from vc.scheduling.model.rows import PodRow


class AssumedBind(msgspec.Struct, frozen=True, kw_only=True):
    """A bind that was sent and is not observed."""

    key: str
    uid: str
    node: str


class AssumedBinds(dict[str, AssumedBind]):
    """By pod uid. Invariant: the row of a pod with an entry here has the status Binding.

    There is no time-out. A bind whose result is unknown may still take effect, so an entry that
    expired could let the scheduler place other pods on resources that are in use.
    """

    def forget_absent(self, pods: Mapping[str, PodRow]) -> None:
        """The view is complete: remove assumed binds of pods that are not in it."""
        for uid, bind in list(self.items()):
            if (row := pods.get(bind.key)) is None or row.uid != uid:
                del self[uid]

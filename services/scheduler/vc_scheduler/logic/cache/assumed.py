"""Binds that were sent and that no fact shows yet (protocol 13)."""

import msgspec


class Assumed(msgspec.Struct, frozen=True, kw_only=True):
    """A bind we sent and have not seen."""

    key: str
    uid: str
    node: str

"""Errors of the bus."""


class BusError(Exception):
    """The bus failed, or a request to it was invalid."""


class BusUnavailableError(BusError):
    """Temporary: no broker answers. Nothing was lost; whether a publish arrived is unknown."""


class TopicMissingError(BusError):
    """A topic does not exist or was deleted. Views of it must be discarded."""


class OffsetGoneError(BusError):
    """The position is outside the log, so the log was created again."""


class TopicMismatchError(BusError):
    """A topic exists with other partitions or settings than declared, or a broker creates such
    topics automatically. The message says which, and what to do.
    """


class OversizeError(BusError):
    """Permanent: a message exceeds the size limit;
    the message says by how much. Nothing was published.
    """


class BusForbiddenError(BusError):
    """An ACL denies the operation. The message names the operation, the user and the list of ACLs.
    The operation succeeds once the ACL is granted.
    """


class BusClosedError(BusError):
    """The client was closed; create a new one."""

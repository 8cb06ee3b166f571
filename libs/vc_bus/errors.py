"""What a bus may answer instead."""


class BusError(Exception):
    """Something is wrong with the bus or with what was asked of it."""


class BusUnavailableError(BusError):
    """Temporary: no broker answers. Nothing was lost; whether a publish arrived is unknown."""


class TopicMissingError(BusError):
    """A topic is not there (any more): it was wiped. Views are to be thrown away."""


class OffsetGoneError(BusError):
    """The position is below the log's start or beyond its end: the log is another one."""


class TopicMismatchError(BusError):
    """A topic exists with other partitions or another policy than ours, or a broker makes such topics
    by itself; says which, and what to do."""


class OversizeError(BusError):
    """Permanent: a message is larger than a topic takes; says by how much. Nothing was published."""


class BusForbiddenError(BusError):
    """An ACL denies it: says what to whom, and where the ACLs are listed. It passes when they are given."""


class BusClosedError(BusError):
    """It was closed before; make a new one."""

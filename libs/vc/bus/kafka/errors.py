"""Maps aiokafka's errors to ours: temporary, permanent, or a log that was created again."""

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka import errors as kafka_errors

from vc.bus.errors import (
    BusClosedError,
    BusError,
    BusForbiddenError,
    BusUnavailableError,
    OffsetGoneError,
    OversizeError,
    TopicMissingError,
)
from vc.model.faults import describe

_UNAVAILABLE = (
    kafka_errors.KafkaConnectionError,
    kafka_errors.KafkaTimeoutError,
    kafka_errors.KafkaUnavailableError,
    kafka_errors.RequestTimedOutError,
    kafka_errors.NodeNotReadyError,
    TimeoutError,
    OSError,
)
_OVERSIZE = (
    kafka_errors.MessageSizeTooLargeError,
    kafka_errors.RecordTooLargeError,
    kafka_errors.RecordListTooLargeError,
)
FORBIDDEN = (
    kafka_errors.TopicAuthorizationFailedError,
    kafka_errors.GroupAuthorizationFailedError,
    kafka_errors.ClusterAuthorizationFailedError,
)
"""Errors of denied ACLs."""
_CLOSED = (kafka_errors.ConsumerStoppedError, kafka_errors.ProducerClosed)
KAFKA_FAULTS = (kafka_errors.KafkaError, kafka_errors.ConsumerStoppedError, TimeoutError, OSError)
"""Exceptions that aiokafka may raise."""


def as_bus_error(error: BaseException, *, what: str) -> BusError:
    """The BusError that corresponds to an exception of aiokafka."""
    said = f"{what}: {type(error).__name__}: {describe(error)}".rstrip(": ")
    if isinstance(error, BusError):
        return error
    if isinstance(error, FORBIDDEN):
        return BusForbiddenError(f"{what}: {_denied(error)}")
    # Before the retriable errors, to which aiokafka counts it. A missing topic is a wipe, after
    # which views are dropped; an outage only makes them stale.
    if isinstance(error, kafka_errors.UnknownTopicOrPartitionError):
        return TopicMissingError(said)
    if isinstance(error, kafka_errors.OffsetOutOfRangeError):
        return OffsetGoneError(said)
    if isinstance(error, _OVERSIZE):
        return OversizeError(said)
    if isinstance(error, _CLOSED):
        return BusClosedError(said)
    # aiokafka marks errors of leader changes and the like as retriable.
    if isinstance(error, _UNAVAILABLE) or getattr(error, "retriable", False):
        return BusUnavailableError(said)
    return BusError(said)


def _denied(error: BaseException) -> str:
    """The resource that an ACL denies; aiokafka names topics in a text, in a set or not at all."""
    sorts = {
        kafka_errors.TopicAuthorizationFailedError: "topic",
        kafka_errors.GroupAuthorizationFailedError: "group",
    }
    sort = next((word for kind, word in sorts.items() if isinstance(error, kind)), "the cluster")
    named = error.args[0] if error.args else ""
    names = (
        sorted(map(str, named)) if isinstance(named, set | frozenset | list | tuple) else [named]
    )
    return f"denied for {sort} {', '.join(map(str, names))}".rstrip()


@contextmanager
def naming_user(user: str) -> Iterator[None]:
    """Adds the denied user and the list of ACLs to the message of a denial."""
    try:
        yield
    except BusForbiddenError as error:
        # An inner block has already added the user.
        if "docs/acls.md" in str(error):
            raise
        raise BusForbiddenError(
            f"Kafka's ACLs forbid user {user or 'ANONYMOUS'}: {error}; give it the rights that "
            f"docs/acls.md lists"
        ) from error


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Raises aiokafka's exceptions of the block as BusErrors."""
    try:
        yield
    except KAFKA_FAULTS as error:
        raise as_bus_error(error, what=what) from error

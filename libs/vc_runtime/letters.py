"""Putting aside what nobody can read."""

from vc_bus import BusError
from vc_messages.dead_letters import dead_letter_message
from vc_messages.record import Record
from vc_runtime.context import Context


async def send_to_dead_letters(context: Context, record: Record, error: Exception) -> None:
    """Put a record nobody can use aside, and go on with the next.

    A bus that is away does not stop the reader either: the record stays where it was read, and the
    log says where that is.
    """
    place = f"{record.topic}[{record.partition}]@{record.offset} {record.key!r}"
    context.log.error("dead letter: %s: %s", place, error)
    message = dead_letter_message(record, service=context.name, error=str(error))
    try:
        await context.bus.publish([message])
    except BusError as away:
        context.log.error("dead letter of %s not delivered: %s", place, away)

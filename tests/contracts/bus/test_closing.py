"""Closing a bus: what was acknowledged is there, and nothing more is answered."""

import pytest

from tests.contracts.bus.steps import at_start, message, new_topic
from vc.bus import Bus, BusClosedError


async def test_a_closed_bus_answers_no_more(bus: Bus) -> None:
    name = await new_topic(bus)
    await bus.publish([message(name)])
    await bus.close()
    await bus.close()
    with pytest.raises(BusClosedError):
        await bus.publish([message(name)])
    with pytest.raises(BusClosedError):
        await bus.end_offsets(name)
    with pytest.raises(BusClosedError):
        await bus.reader(at_start(name))

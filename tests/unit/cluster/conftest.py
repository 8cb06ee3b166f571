"""A scripted server per test."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.cluster.scripted_server import ScriptedServer, scripted_server


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """It answers whatever the test told it to."""
    async with scripted_server() as made:
        yield made

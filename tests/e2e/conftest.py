"""One deployment for each kind of API server, shared by all scenarios that ask for it.

Scenarios name it by indirect parameter; pytest runs all of one kind before the first of the other, so
that two stacks are never up together.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.deployment import Deployment
from tests.integration.stack.running import require

EMBEDDED = "embedded"
KUBERNETES = "kubernetes"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Deployment]:
    real = request.param == KUBERNETES
    require("kafka", "redis", *(("kubernetes", "kwok") if real else ()))
    running = Deployment(tmp_path_factory.mktemp(request.param), real=real)
    started = running.clock.monotonic()
    try:
        await running.start()
        print(f"\n{request.param} deployment up in {running.clock.monotonic() - started:.0f} s")
        yield running
    finally:
        await running.stop()

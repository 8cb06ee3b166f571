"""What the contracts run on when only a container will do: it stays up from the first test to the last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.contracts.contained import contained


class Engine:
    """Stands for containers, and says what happened to its own."""

    def __init__(self) -> None:
        self.happened: list[str] = []

    @asynccontextmanager
    async def server(self) -> AsyncIterator[str]:
        await asyncio.to_thread(self.happened.append, "started")
        try:
            yield "127.0.0.1:1"
        finally:
            await asyncio.to_thread(self.happened.append, "stopped")


async def one_test(engine: Engine) -> None:
    engine.happened.append("tested")


@pytest.mark.parametrize("fails", [False, True])
def test_tests_with_loops_of_their_own_share_one_server(*, fails: bool) -> None:
    engine = Engine()

    def run() -> None:
        with contained(engine.server) as address:
            assert address == "127.0.0.1:1"
            for _ in range(2):
                asyncio.run(one_test(engine))
            if fails:
                raise KeyboardInterrupt

    if fails:
        with pytest.raises(KeyboardInterrupt):
            run()
    else:
        run()
    assert engine.happened == ["started", "tested", "tested", "stopped"]

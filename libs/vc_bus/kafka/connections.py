"""The two clients that questions to the brokers are asked with, each made when it is first needed.

aiokafka asks only the brokers it knows of, and never again those it was told at the start: a client
whose brokers have all moved asks their old addresses for ever. The watchdog looks through these
clients, so they must not go blind: one that did not answer is let go of, and whoever asks next begins
at the bootstrap servers again. It is ended when the last of those who still ask it has gone.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Generic, TypeVar

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient

from vc_bus.errors import BusClosedError, BusUnavailableError
from vc_bus.kafka.config import REQUEST_SECONDS_MAX, KafkaConfig
from vc_bus.kafka.consuming import start, stop
from vc_bus.kafka.ending import end
from vc_bus.kafka.errors import KAFKA_FAULTS, as_bus_error

Client = TypeVar("Client", AIOKafkaAdminClient, AIOKafkaConsumer)
QUESTION_SECONDS_MAX: Final = REQUEST_SECONDS_MAX
"""Of one question, with the connecting that it may need, and with the wait for others who connect."""


class Connections:
    """Of one bus."""

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._admin = _Kept(self._new_admin, end=_end_admin)
        self._offsets = _Kept(self._new_offsets, end=stop)

    def admin(
        self, what: str, *, seconds: float = QUESTION_SECONDS_MAX
    ) -> AbstractAsyncContextManager[AIOKafkaAdminClient]:
        """To ask about topics and groups; faults come out in our words, naming what was asked."""
        return self._admin.asked(what, seconds=seconds)

    def offsets(self, what: str) -> AbstractAsyncContextManager[AIOKafkaConsumer]:
        """To ask from where to where logs go."""
        return self._offsets.asked(what, seconds=QUESTION_SECONDS_MAX)

    async def _new_admin(self) -> AIOKafkaAdminClient:
        admin = AIOKafkaAdminClient(**self._config.client_settings())
        try:
            await admin.start()
        except BaseException:
            await _end_admin(admin)
            raise
        return admin

    async def _new_offsets(self) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(**self._config.client_settings())
        await start(consumer)
        return consumer

    async def close(self) -> None:
        await self._admin.close()
        await self._offsets.close()


async def _end_admin(admin: AIOKafkaAdminClient) -> None:
    await end(admin.close())


class _Kept(Generic[Client]):
    """One client for all who ask, until it fails."""

    def __init__(
        self,
        make: Callable[[], Awaitable[Client]],
        *,
        end: Callable[[Client], Awaitable[None]],
    ) -> None:
        self._make = make
        self._end = end
        self._connecting = asyncio.Lock()
        self._client: Client | None = None
        self._closed = False
        self._askers: Counter[Client] = Counter()
        """Who asks which client now, those that were let go of included."""

    @asynccontextmanager
    async def asked(self, what: str, *, seconds: float) -> AsyncIterator[Client]:
        """Ask within the bound; a client that does not answer is not asked again."""
        client: Client | None = None
        try:
            async with asyncio.timeout(seconds):
                client = await self._connected()
                self._askers[client] += 1
                yield client
        except KAFKA_FAULTS as error:
            said = as_bus_error(error, what=what)
            if isinstance(said, BusUnavailableError) and self._client is client:
                self._client = None
            raise said from error
        finally:
            if client is not None:
                await self._left(client)

    async def _connected(self) -> Client:
        async with self._connecting:
            self._check_open()
            if self._client is None:
                client = await self._make()
                if self._closed:  # meanwhile, and nobody else would end it
                    await self._end(client)
                self._check_open()
                self._client = client
            return self._client

    def _check_open(self) -> None:
        if self._closed:
            raise BusClosedError("this bus was closed")

    async def _left(self, client: Client) -> None:
        self._askers[client] -= 1
        if self._askers[client] > 0:
            return
        del self._askers[client]
        if client is not self._client:
            await self._end(client)

    async def close(self) -> None:
        self._closed = True
        client, self._client = self._client, None
        if client is not None and client not in self._askers:
            await self._end(client)

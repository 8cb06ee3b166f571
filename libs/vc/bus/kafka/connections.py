"""The two clients for queries to the brokers, each created on first use.

aiokafka only contacts brokers that it knows from metadata and never returns to the bootstrap
servers. A client whose brokers have all moved would use their old addresses forever. The watchdog
depends on these clients, so a client that did not answer is dropped, and the next query starts from
the bootstrap servers. A dropped client is closed when its last pending query has ended.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Generic, TypeVar

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient

from vc.bus.errors import BusClosedError, BusUnavailableError
from vc.bus.kafka.config import REQUEST_SECONDS_MAX, KafkaConfig
from vc.bus.kafka.consuming import start, stop
from vc.bus.kafka.ending import end
from vc.bus.kafka.errors import KAFKA_FAULTS, as_bus_error

Client = TypeVar("Client", AIOKafkaAdminClient, AIOKafkaConsumer)
QUERY_SECONDS_MAX: Final = REQUEST_SECONDS_MAX
"""Time limit of one query, including connecting and waiting for another caller that connects."""


class Connections:
    """The query clients of one bus."""

    def __init__(self, config: KafkaConfig) -> None:
        self._config = config
        self._admin = _Kept(self._new_admin, end=_end_admin)
        self._offsets = _Kept(self._new_offsets, end=stop)

    def admin(
        self, what: str, *, seconds: float = QUERY_SECONDS_MAX
    ) -> AbstractAsyncContextManager[AIOKafkaAdminClient]:
        """A client for queries about topics and groups;
        errors are BusErrors that name the query `what`.
        """
        return self._admin.query(what, seconds=seconds)

    def offsets(self, what: str) -> AbstractAsyncContextManager[AIOKafkaConsumer]:
        """A client for queries about the offsets of logs."""
        return self._offsets.query(what, seconds=QUERY_SECONDS_MAX)

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
    """One client, shared by all callers until it fails."""

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
        self._pending: Counter[Client] = Counter()
        """Number of pending queries by client, including dropped clients."""

    @asynccontextmanager
    async def query(self, what: str, *, seconds: float) -> AsyncIterator[Client]:
        """Use the client within the time limit; a client that does not answer is dropped."""
        client: Client | None = None
        try:
            async with asyncio.timeout(seconds):
                client = await self._connected()
                # A dropped client is closed by its last query, so each one is counted.
                self._pending[client] += 1
                yield client
        except KAFKA_FAULTS as error:
            bus_error = as_bus_error(error, what=what)
            # Only a client that did not answer is suspect; a denied query says nothing about it.
            if isinstance(bus_error, BusUnavailableError) and self._client is client:
                self._client = None
            raise bus_error from error
        finally:
            if client is not None:
                await self._release(client)

    async def _connected(self) -> Client:
        async with self._connecting:
            self._check_open()
            if self._client is None:
                client = await self._make()
                if self._closed:  # closed meanwhile, so no one else would close this client
                    await self._end(client)
                self._check_open()
                self._client = client
            return self._client

    def _check_open(self) -> None:
        if self._closed:
            raise BusClosedError("this bus was closed")

    async def _release(self, client: Client) -> None:
        self._pending[client] -= 1
        if self._pending[client] > 0:
            return
        del self._pending[client]
        # The last user of a dropped client closes it.
        if client is not self._client:
            await self._end(client)

    async def close(self) -> None:
        self._closed = True
        client, self._client = self._client, None
        # A client in use is closed by its last query, which still waits for an answer.
        if client is not None and client not in self._pending:
            await self._end(client)

"""Clients of queries are dropped when they fail, and no caller waits for ever.

The clients are stand-ins that answer, hang or fail as scripted: aiokafka's own cannot be made to
at will, and time is virtual.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from aiokafka.errors import ClusterAuthorizationFailedError, KafkaConnectionError

from tests.contracts.bus.steps import topic
from vc.bus import (
    BusClosedError,
    BusError,
    BusForbiddenError,
    BusUnavailableError,
    TopicMismatchError,
    TopicMissingError,
)
from vc.bus.kafka.broker import KNOWN_TOPICS_SECONDS, Broker
from vc.bus.kafka.config import KafkaConfig
from vc.bus.kafka.connections import QUERY_SECONDS_MAX, _Kept
from vc.bus.kafka.ending import END_SECONDS_MAX, end
from vc.bus.kafka.errors import translated
from vc.clock import LoopClock, run_virtual

CALLERS = 20
HANG_SECONDS = 1e6


class Client:
    """Says its number, unless it fails."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.fault: Exception | None = None
        self.ended = False

    async def answer(self, seconds: float = 0.0) -> int:
        await asyncio.sleep(seconds)
        assert not self.ended, "it was closed during a query"
        if self.fault is not None:
            raise self.fault
        return self.number


class Clients:
    """Makes and ends them."""

    def __init__(self, *, connect_seconds: float = 0.0) -> None:
        self.made: list[Client] = []
        self._connect_seconds = connect_seconds
        self.kept: Any = _Kept(self._make, end=self._end)

    async def _make(self) -> Client:
        await asyncio.sleep(self._connect_seconds)
        self.made.append(Client(len(self.made)))
        return self.made[-1]

    async def _end(self, client: Client) -> None:
        client.ended = True

    async def ask(self, *, seconds: float = 0.0) -> int:
        async with self.kept.query("asking", seconds=QUERY_SECONDS_MAX) as client:
            number: int = await client.answer(seconds)
            return number


def test_a_client_that_does_not_answer_is_ended_and_the_next_question_has_another() -> None:
    async def main() -> None:
        clients = Clients()
        assert await clients.ask() == 0
        assert await clients.ask() == 0
        for fault in (KafkaConnectionError("refused"), OSError("reset"), TimeoutError()):
            await clients.ask()
            clients.made[-1].fault = fault
            with pytest.raises(BusUnavailableError, match="asking"):
                await clients.ask()
            assert clients.made[-1].ended
        with pytest.raises(BusUnavailableError):
            await clients.ask(seconds=HANG_SECONDS)
        assert await clients.ask() == len(clients.made) - 1 == 4

    run_virtual(main())


def test_a_client_that_says_no_is_kept() -> None:
    async def main() -> None:
        clients = Clients()
        await clients.ask()
        clients.made[0].fault = ClusterAuthorizationFailedError("no")
        with pytest.raises(BusError):
            await clients.ask()
        clients.made[0].fault = None
        assert await clients.ask() == 0

    run_virtual(main())


def test_a_client_that_failed_one_is_not_ended_under_another() -> None:
    async def main() -> None:
        clients = Clients()
        slow = asyncio.ensure_future(clients.ask(seconds=5))
        await asyncio.sleep(1)
        clients.made[0].fault = OSError("reset")
        with pytest.raises(BusUnavailableError):
            await clients.ask()
        clients.made[0].fault = None
        assert not clients.made[0].ended
        assert await clients.ask() == 1
        assert await slow == 0
        assert clients.made[0].ended

    run_virtual(main())


def test_many_who_wait_for_a_connection_wait_once() -> None:
    async def main() -> None:
        clients = Clients(connect_seconds=HANG_SECONDS)
        began = asyncio.get_running_loop().time()
        said = await asyncio.gather(
            *(clients.ask() for _ in range(CALLERS)), return_exceptions=True
        )
        assert {type(each) for each in said} == {BusUnavailableError}
        assert asyncio.get_running_loop().time() - began < 2 * QUERY_SECONDS_MAX

    run_virtual(main())


def test_a_client_that_is_ready_after_the_close_is_ended() -> None:
    async def main() -> None:
        clients = Clients(connect_seconds=1)
        asking = asyncio.ensure_future(clients.ask())
        await asyncio.sleep(0.5)
        await clients.kept.close()
        with pytest.raises(BusClosedError):
            await asking
        assert [client.ended for client in clients.made] == [True]
        with pytest.raises(BusClosedError):
            await clients.ask()

    run_virtual(main())


class SlowBroker(Broker):
    """A query that is not answered."""

    def __init__(self) -> None:
        super().__init__(KafkaConfig(bootstrap_servers="nowhere:1"), clock=LoopClock())
        self.questions = 0

    async def _described(self, names: set[str]) -> tuple[dict[str, int], set[str]]:
        self.questions += 1
        await asyncio.sleep(QUERY_SECONDS_MAX)
        raise BusUnavailableError("looking for topics: no broker answers")


def test_an_unanswered_query_is_sent_once_for_all_waiting_callers() -> None:
    async def main() -> None:
        broker = SlowBroker()
        began = asyncio.get_running_loop().time()
        said = await asyncio.gather(
            *(broker.check_there(["t"]) for _ in range(CALLERS)), return_exceptions=True
        )
        assert {str(each) for each in said} == {"looking for topics: no broker answers"}
        assert asyncio.get_running_loop().time() - began < QUERY_SECONDS_MAX + 1
        assert broker.questions == 1
        await asyncio.sleep(2 * KNOWN_TOPICS_SECONDS)
        with pytest.raises(BusUnavailableError):
            await broker.check_there(["t"])
        assert broker.questions == 2, "and again when that is old"

    run_virtual(main())


class BrokersTold:
    """An admin client of brokers that answer as they are told about their settings."""

    def __init__(self, answers: dict[int, tuple[int, str] | None]) -> None:
        self._answers = answers

    @asynccontextmanager
    async def admin(self, what: str, *, seconds: float = 10.0) -> AsyncIterator["BrokersTold"]:
        with translated(what):
            async with asyncio.timeout(seconds):
                yield self

    async def _send_request(self, request: Any) -> Any:
        assert request._allow_auto_topic_creation is False
        brokers = [(node, "host", 1) for node in self._answers]
        return SimpleNamespace(brokers=brokers, to_object=lambda: {"topics": []})

    async def describe_configs(self, resources: list[Any]) -> list[Any]:
        (resource,) = resources
        answer = self._answers[int(resource.name)]
        if answer is None:
            await asyncio.sleep(HANG_SECONDS)
        code, value = answer or (0, "")
        entries = [(name, value) for name in resource.configs] if value else []
        return [SimpleNamespace(resources=[(code, "", 4, resource.name, entries)])]


def checked(answers: dict[int, tuple[int, str] | None]) -> None:
    async def main() -> None:
        broker = SlowBroker()
        broker._connections = BrokersTold(answers)  # type: ignore[assignment]
        with pytest.raises(BusUnavailableError):  # of the next question: the brokers were passed
            await broker.ensure_topics([topic()])

    run_virtual(main())


def test_brokers_that_make_no_topics_are_taken() -> None:
    checked({1: (0, "false"), 2: (0, "false")})


def test_one_broker_of_many_that_makes_topics_is_refused() -> None:
    with pytest.raises(TopicMismatchError, match="broker 2: auto"):
        checked({1: (0, "false"), 2: (0, "true"), 3: None})


def test_a_broker_that_is_away_or_does_not_know_the_setting_is_passed_over() -> None:
    checked({1: None, 2: (0, "")})


def test_settings_that_may_not_be_seen_are_said_and_the_service_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        checked({1: (ClusterAuthorizationFailedError.errno, "")})
    (said,) = caplog.messages
    assert "setting=auto.create.topics.enable broker=1" in said
    assert "CLUSTER_AUTHORIZATION_FAILED" in said


@pytest.mark.parametrize("fault", [None, OSError("gone"), asyncio.CancelledError()])
def test_ending_is_bounded_and_nothing_of_it_is_heard(fault: BaseException | None) -> None:
    async def ending() -> None:
        if fault is not None:
            raise fault
        await asyncio.sleep(HANG_SECONDS)

    async def main() -> None:
        await end(ending())
        assert asyncio.get_running_loop().time() <= END_SECONDS_MAX + 1

    run_virtual(main())


class Described(msgspec.Struct, frozen=True):
    """What a broker says of a topic, and what that is to us."""

    id: str
    code: int
    leaders: list[int]
    says: type[Exception] | None = None


DESCRIBED = [
    Described("it is there", 0, [1, 2]),
    Described("it is unknown: it was wiped", 3, [], TopicMissingError),
    Described("a partition has no leader: it is there", 0, [1, -1], BusUnavailableError),
    Described("no partition has a leader: it is there", 5, [], BusUnavailableError),
    Described("it may not be described: its existence is unknown", 29, [], BusForbiddenError),
]


@pytest.mark.parametrize("case", DESCRIBED, ids=lambda case: case.id)
def test_only_a_topic_that_the_broker_does_not_know_counts_as_wiped(case: Described) -> None:
    class Told(BrokersTold):
        async def _send_request(self, request: Any) -> Any:
            partitions = [{"leader": leader} for leader in case.leaders]
            described = {"topic": "t", "error_code": case.code, "partitions": partitions}
            return SimpleNamespace(to_object=lambda: {"topics": [described]})

    async def main() -> dict[str, int]:
        broker = Broker(KafkaConfig(bootstrap_servers="nowhere:1"), clock=LoopClock())
        broker._connections = Told({})  # type: ignore[assignment]
        return await broker.check_there(["t"])

    if case.says is None:
        assert run_virtual(main()) == {"t": len(case.leaders)}
        return
    with pytest.raises(case.says, match=r"\bt\b") as said:
        run_virtual(main())
    assert said.type is case.says

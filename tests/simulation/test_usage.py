"""The usage ledger of a whole stack: what is written down is what the pods held."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tests.simulation.stack import CORE, WALL_AT_ZERO, Stack, gang_job
from vc.bus.memory import MemoryBus
from vc.clock import run_virtual
from vc.cluster import ForbiddenError
from vc.messages.record import TopicPartition
from vc.messages.topics import USAGE_LEDGER
from vc.messages.usage import UsageRow, usage_of
from vc.model.api import keys
from vc.model.api.kinds import CONFIGMAPS, PODGROUPS, PODS, QUEUES, Kind
from vc.model.api.pod import Pod
from vc.model.api.struct import JsonObject
from vc.model.values.times import parse_time
from vc.simcluster.cluster import StoreCluster
from vc.usage_ledger.logic.documents import PREFIX, entries_of, hours_of, unpack_hour
from vc.usage_ledger.service import UsageLedgerService
from vc.usage_ledger.store import CHECKPOINT

HOUR = int(WALL_AT_ZERO) // 3600 * 3600
BEGINS_BEFORE = 300
"""Seconds to the end of the first hour."""
SETTLED_SECONDS = 200
"""An hour is closed so long after its end at the latest."""
GIB = 1 << 30


class Case(msgspec.Struct, frozen=True):
    """Something that happens while jobs come and go."""

    id: str
    happens: Callable[[Stack, int], None]
    services: tuple[str, ...] = CORE


def _nothing(_: Stack, __: int) -> None:
    pass


def _die(stack: Stack, _: int) -> None:
    stack.kill("usage-ledger")


def _lose_bus_and_cache(stack: Stack, turn: int) -> None:
    if turn % 2:
        stack.bus.delete_topics()
        stack.snapshot.flush()


def _lose_everything_and_die(stack: Stack, turn: int) -> None:
    if turn == 3:
        stack.bus.delete_topics()
        stack.snapshot.flush()
        stack.kill("usage-ledger")


def _change_leaders(stack: Stack, turn: int) -> None:
    stack.kill("usage-ledger" if turn % 2 else "usage-ledger@2")


CASES = [
    Case("nothing goes wrong", _nothing),
    Case("leaders change again and again", _change_leaders, (*CORE, "usage-ledger@2")),
    Case("the usage-ledger dies again and again", _die),
    Case("the bus and the cache are wiped again and again", _lose_bus_and_cache),
    Case("bus, cache and process are lost at once", _lose_everything_and_die),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_closed_hours_hold_what_the_pods_held(case: Case) -> None:
    async def main() -> None:
        stack = Stack(seed=5, services=case.services, wall_at_zero=HOUR + 3600 - BEGINS_BEFORE)
        async with stack:
            await stack.clock.sleep(5)
            for turn in range(6):
                await stack.submit(gang_job(f"job-{turn}", replicas=3, cpu="2", run_seconds=37))
                await stack.clock.sleep(70)  # a minute is how old the kept accounts may be
                case.happens(stack, turn)
                await stack.clock.sleep(10)
            held = _integrated(stack.pods())
            await stack.delete_job("job-0")
            await stack.clock.sleep(SETTLED_SECONDS)
            closed = _closed(stack)
            assert not stack.problems
            assert sum(held.values()) > 0
            assert closed == held
            rows = await _published(stack.bus)
            assert {key: row for key, row in rows.items() if row.closed}
            assert _sums(rows) == held

    run_virtual(main())


def test_a_job_that_is_deleted_while_it_runs_is_charged_to_its_end() -> None:
    async def main() -> None:
        async with Stack(seed=6, wall_at_zero=HOUR + 3600 - BEGINS_BEFORE) as stack:
            await stack.clock.sleep(5)
            await stack.submit(gang_job("job", replicas=3, cpu="2", run_seconds=10_000))
            await stack.until(lambda: len(_running(stack)) == 3, seconds=60, what="it runs")
            begun = stack.clock.now()
            await stack.clock.sleep(100)
            await stack.delete_job("job")
            await stack.until(lambda: not stack.pods(), seconds=90, what="its pods are gone")
            lasted = stack.clock.now() - begun
            await stack.clock.sleep(BEGINS_BEFORE + SETTLED_SECONDS - stack.clock.monotonic())
            seconds = _closed(stack)["cpu"] / 2000 / 3
            assert abs(seconds - lasted) <= DELAYS_SECONDS_MAX
            assert not stack.problems

    run_virtual(main())


def test_a_label_puts_no_pod_on_another_bill() -> None:
    async def main() -> None:
        services = (*CORE, "podgroup-controller")
        stack = Stack(seed=8, services=services, wall_at_zero=HOUR + 3600 - BEGINS_BEFORE)
        async with stack:
            await stack.clock.sleep(5)
            await _make_queue(stack, "team")
            await stack.submit(gang_job("train", replicas=2, queue="team", run_seconds=30))
            forged = _plain_pod("forged", run_seconds=30)
            forged["metadata"]["labels"] = {keys.QUEUE_NAME: "team", keys.JOB_NAME: "train"}
            await stack.cluster.create(PODS, forged, namespace="default")
            await stack.until(lambda: len(_running(stack)) == 3, seconds=60, what="they run")
            await stack.clock.sleep(BEGINS_BEFORE + SETTLED_SECONDS - stack.clock.monotonic())
            rows = {(row.queue, row.job) for row in (await _published(stack.bus)).values()}
            assert rows == {("team", "train"), ("default", "forged")}
            page = generate_latest(_metrics_of(stack.running["usage-ledger"])).decode()
            for label in ("queue", "job"):
                assert f'pyroclast_usage_labels_ignored_total{{label="{label}"}} 1.0' in page
            assert not stack.problems

    run_virtual(main())


def test_the_queue_of_a_finished_job_is_known_when_everything_else_is_lost() -> None:
    """Its pod group is gone by then."""

    async def main() -> None:
        async with Stack(seed=9, wall_at_zero=HOUR + 3600 - BEGINS_BEFORE) as stack:
            await stack.clock.sleep(5)
            await _make_queue(stack, "team")
            await stack.submit(gang_job("train", replicas=2, queue="team", run_seconds=20))
            groups = stack.api.registry.for_kind(PODGROUPS)
            await stack.until(lambda: len(_running(stack)) == 2, seconds=60, what="it runs")
            await stack.until(lambda: not stack.api.list(groups).items, seconds=60, what="it ended")
            stack.bus.delete_topics()
            stack.snapshot.flush()
            stack.kill("usage-ledger")
            await stack.clock.sleep(BEGINS_BEFORE + SETTLED_SECONDS - stack.clock.monotonic())
            rows = {(row.queue, row.job) for row in (await _published(stack.bus)).values()}
            assert rows == {("team", "train")}

    run_virtual(main())


def _metrics_of(service: object) -> CollectorRegistry:
    assert isinstance(service, UsageLedgerService)
    return service._context.metrics


async def _make_queue(stack: Stack, name: str) -> None:
    body = {"apiVersion": QUEUES.api_version, "kind": QUEUES.kind, "metadata": {"name": name}}
    await stack.cluster.create(QUEUES, {**body, "spec": {"weight": 1}})


def _plain_pod(name: str, *, run_seconds: float) -> JsonObject:
    requests = {"cpu": "1", "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "annotations": {"sim.pyroclast.io/run-seconds": str(run_seconds)},
        },
        "spec": {
            "schedulerName": "volcano",
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        },
    }


class Refusing(StoreCluster):
    """An API server that refuses us ConfigMaps while `refuses`."""

    refuses = False

    def _check(self, kind: Kind) -> None:
        if self.refuses and kind is CONFIGMAPS:
            raise ForbiddenError("configmaps are forbidden")

    async def get(self, kind: Kind, *, name: str, namespace: str = "") -> JsonObject:
        self._check(kind)
        return await super().get(kind, name=name, namespace=namespace)

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        self._check(kind)
        return await super().create(kind, body, namespace=namespace)

    async def patch(self, kind: Kind, *args: Any, **named: Any) -> JsonObject:
        self._check(kind)
        return await super().patch(kind, *args, **named)


def test_while_hours_cannot_be_closed_usage_is_published_and_saved(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stack = Stack(seed=7, wall_at_zero=HOUR + 3600 - BEGINS_BEFORE)
        stack.cluster = cluster = Refusing(stack.api)
        async with stack:
            await stack.clock.sleep(20)
            cluster.refuses = True
            await stack.clock.sleep(BEGINS_BEFORE + SETTLED_SECONDS)
            await stack.submit(gang_job("late", replicas=3, cpu="2", run_seconds=37))
            await stack.clock.sleep(90)
            held = _integrated(stack.pods(), until=HOUR + 7200)
            rows = await _published(stack.bus)
            assert not _closed(stack)
            assert held["cpu"] > 0
            assert _sums(rows, closed=False) == held
            saved = await stack.snapshot.load(CHECKPOINT)
            assert saved is not None
            assert saved.row_counts == {"accounts": 3}
            assert stack.clock.now() - saved.written_at < 20
            cluster.refuses = False
            await stack.clock.sleep(3600)
            assert _closed(stack) == held
            assert not stack.problems

    with caplog.at_level("WARNING", logger="pyroclast"):
        run_virtual(main())
    assert [m for m in caplog.messages if "usage" in m] == [
        "usage write failed, will retry error=configmaps are forbidden"
    ]


DELAYS_SECONDS_MAX = 4
"""Times of the API are whole seconds, and a pod starts a moment after it is bound."""


def _running(stack: Stack) -> list[Pod]:
    return [pod for pod in stack.pods() if pod.status.phase == "Running"]


def _integrated(pods: list[Pod], *, until: int = HOUR + 3600) -> Counter[str]:
    """Unit-seconds of all pods that ended until then, from what they say."""
    held: Counter[str] = Counter()
    for pod in pods:
        (bound,) = [c for c in pod.status.conditions if c.type == "PodScheduled"]
        ended = pod.status.container_statuses[0].state
        assert ended is not None
        assert ended.terminated is not None
        begin, end = (
            parse_time(bound.last_transition_time),
            parse_time(ended.terminated.finished_at),
        )
        assert begin is not None
        assert end is not None
        if end <= until:
            held["cpu"] += int(end - begin) * 2000
            held["memory"] += int(end - begin) * GIB
    return held


def _closed(stack: Stack) -> Counter[str]:
    held: Counter[str] = Counter()
    resource = stack.api.registry.for_kind(CONFIGMAPS)
    for raw in stack.api.list(resource, namespace="volcano-system").items:
        document = msgspec.json.decode(raw)
        name = document["metadata"]["name"]
        if not name.startswith(PREFIX) or name.startswith(PREFIX + "open"):
            continue
        day = name.removeprefix(PREFIX)[: len("2026-11-16")]
        for packed in hours_of(day, entries_of(document)).values():
            for amounts in unpack_hour(packed).values():
                held.update(amounts)
    return held


async def _published(bus: MemoryBus) -> dict[str, UsageRow]:
    """The topic as a reader sees it."""
    rows: dict[str, UsageRow] = {}
    starts = await bus.start_offsets(USAGE_LEDGER.name)
    logs = {TopicPartition(USAGE_LEDGER.name, p): start for p, start in enumerate(starts)}
    reader = await bus.reader(logs)
    for record in await reader.poll(max_records=100_000, wait_seconds=0.0):
        row = usage_of(record)
        if row is None:
            rows.pop(record.key, None)
        else:
            rows[record.key] = row
    await reader.close()
    return rows


def _sums(rows: dict[str, UsageRow], *, closed: bool = True) -> Counter[str]:
    held: Counter[str] = Counter()
    for row in rows.values():
        if row.closed is closed:
            held.update({name: int(text) for name, text in row.held.items()})
    return held

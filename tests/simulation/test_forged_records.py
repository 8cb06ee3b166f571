"""Records that no watcher of ours wrote, on its own topics, in the middle of jobs: all jobs complete.

Higher epochs are outgrown, on facts and on progress. What cannot have come from a Lease, unknown keys and
newer versions of progress are passed over, counted and overwritten, also when the watcher restarts.
"""

from collections.abc import Callable

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from tests.unit.watcher.test_service import read_all
from vc.clock import run_virtual
from vc.messages.codec import HEADER_SCHEMA, SCHEMA_VERSION_READ_MAX
from vc.messages.facts import HEADER_EPOCH, HEADER_INCARNATION, fence_message, identity_of
from vc.messages.progress import Progress, progress_message, progress_of
from vc.messages.record import Message
from vc.messages.topics import PROGRESS, fact_partitions
from vc.model.api.kinds import JOBS, NODES, PODS, QUEUES

JOBS_COUNT = 12
PODS_EACH = 2
SERVICES = (*CORE, "podgroup-controller")


class Case(msgspec.Struct, frozen=True):
    """What somebody writes, given the newest progress of pods."""

    id: str
    forge: Callable[[Progress], list[Message]]
    begins_anew: bool = False
    """Whether the topics get another incarnation."""


def _fence(epochs: int) -> Callable[[Progress], list[Message]]:
    """Under our incarnation, on one partition of pods, that many epochs ahead."""

    def forge(told: Progress) -> list[Message]:
        stamp = msgspec.structs.replace(told.stamp, epoch=told.stamp.epoch + epochs)
        return [fence_message(PODS, partition=n, stamp=stamp) for n in (3, 7)]

    return forge


def _absurd_fence(told: Progress) -> list[Message]:
    (fence, *_) = _fence(1)(told)
    numbers = (str(2**63), "9" * 5000, "-1", "x")
    return [
        msgspec.structs.replace(fence, headers={**fence.headers, HEADER_EPOCH: number}, key=key)
        for number in numbers
        for key in (fence.key, "default/job-0-worker-0")
    ]


def _progress(**changes: object) -> Callable[[Progress], list[Message]]:
    def forge(told: Progress) -> list[Message]:
        return [progress_message(msgspec.structs.replace(told, **changes))]

    return forge


def _epoch(ahead: int) -> Callable[[Progress], list[Message]]:
    def forge(told: Progress) -> list[Message]:
        stamp = msgspec.structs.replace(told.stamp, epoch=told.stamp.epoch + ahead)
        offsets = [10**12] * fact_partitions(PODS)
        return _progress(stamp=stamp, end_offsets=offsets)(told)

    return forge


def _of_kind(kind: str) -> Callable[[Progress], list[Message]]:
    def forge(told: Progress) -> list[Message]:
        stamp = msgspec.structs.replace(told.stamp, epoch=told.stamp.epoch + 5)
        return _progress(kind=kind, stamp=stamp)(told)

    return forge


def _under_key(key: str) -> Callable[[Progress], list[Message]]:
    def forge(told: Progress) -> list[Message]:
        return [msgspec.structs.replace(progress_message(told), key=key)]

    return forge


def _newer(*keys: str) -> Callable[[Progress], list[Message]]:
    def forge(told: Progress) -> list[Message]:
        message = progress_message(told)
        headers = {**message.headers, HEADER_SCHEMA: str(SCHEMA_VERSION_READ_MAX + 1)}
        return [msgspec.structs.replace(message, headers=headers, key=key) for key in keys]

    return forge


def _foreign(told: Progress) -> list[Message]:
    """As the watcher of another cluster writes, of one kind and of one fact."""
    stamp = msgspec.structs.replace(told.stamp, incarnation="another-cluster.0", epoch=99)
    fence = fence_message(PODS, partition=3, stamp=stamp)
    fact = msgspec.structs.replace(fence, key="default/job-0-worker-0", value=b"\x80")
    return [progress_message(msgspec.structs.replace(told, stamp=stamp)), fence, fact]


CASES = [
    Case("a higher epoch on two partitions", _fence(1)),
    Case("a much higher epoch on two partitions", _fence(2_000_000), begins_anew=True),
    Case("the highest epoch of a Lease", lambda told: _fence(2**31 - 1 - told.stamp.epoch)(told), begins_anew=True),
    Case("epochs that no Lease can have", _absurd_fence),
    Case("progress of a higher epoch with huge offsets", _epoch(1)),
    Case("progress of a much higher epoch", _epoch(10**8), begins_anew=True),
    Case("progress of an epoch that no Lease can have", _epoch(2**62)),
    Case("progress in our name that is ahead of ours", _progress(sequence=2**53, end_offsets=[2**61] * 12)),
    Case("progress with offsets that no log has", _progress(sequence=10**9, end_offsets=[2**63 - 1] * 12)),
    Case("progress of an unknown kind", _of_kind("surprises")),
    Case("progress under another key than its kind", _under_key("nodes")),
    Case("progress under an unknown key", _under_key("nothing")),
    Case("progress of a newer version", _newer("pods", "surprises", "")),
    Case("progress and facts of another cluster", _foreign),
]  # fmt: skip


async def newest_told(stack: Stack) -> Progress:
    told = [r for r in await read_all(stack, PROGRESS.name) if r.key == "pods" and r.value]
    readable = []
    for record in told:
        try:
            readable.append(progress_of(record))
        except ValueError:
            continue
    return [p for p in readable if "another" not in p.stamp.incarnation][-1]


@pytest.mark.parametrize("restarts", [False, True], ids=["watcher stays", "watcher restarts"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_job_completes(case: Case, *, restarts: bool) -> None:
    async def main() -> None:
        async with Stack(seed=5, services=SERVICES) as stack:
            await stack.submit(gang_job("job-0", replicas=PODS_EACH, run_seconds=2))
            await stack.clock.sleep(8)
            first = await newest_told(stack)
            if restarts:
                stack.pause("watcher")
                await stack.clock.sleep(1)
            await stack.bus.publish(case.forge(first))
            await stack.clock.sleep(1)
            stack.resume("watcher")
            for number in range(1, JOBS_COUNT):
                await stack.submit(gang_job(f"job-{number}", replicas=PODS_EACH, run_seconds=2))
            await stack.until(
                lambda: all(
                    stack.job(f"job-{n}").status.state.phase == "Completed"
                    for n in range(JOBS_COUNT)
                ),
                seconds=90,
                what="all completed",
            )
            await stack.clock.sleep(3)
            assert [service.unready() for service in stack.running.values()] == [""] * len(SERVICES)
            assert stack.problems == []
            assert max(stack.created.values()) == 1
            last = await newest_told(stack)
            same = last.stamp.incarnation == first.stamp.incarnation
            assert same is not case.begins_anew
            await check_nothing_of_it_stands(stack, last)

    run_virtual(main())


async def check_nothing_of_it_stands(stack: Stack, last: Progress) -> None:
    """What compaction would leave is ours, all of it."""
    for record in {r.key: r for r in await read_all(stack, PROGRESS.name)}.values():
        assert record.value is None or progress_of(record).stamp == last.stamp, record.key
    for kind in (JOBS, NODES, PODS, QUEUES):
        newest = {(r.partition, r.key): r for r in await read_all(stack, kind.topic)}
        for record in newest.values():
            if record.headers.get(HEADER_INCARNATION) != last.stamp.incarnation:
                assert record.key == "\x00epoch", f"{kind.topic} {record.key} is foreign"
            elif record.headers[HEADER_EPOCH].isdecimal() and len(record.headers[HEADER_EPOCH]) < 9:
                assert identity_of(record).stamp.epoch <= last.stamp.epoch

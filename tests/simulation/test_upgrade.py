"""Every sort of message of a newer release, in the middle of jobs, at services of this one.

Whoever cannot read one puts it aside and stays alive. Facts and progress make it stand still until the
watcher, which is of this release, has written over them; then all jobs complete, and nothing is doubled.
"""

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from tests.unit.messages.samples import SAMPLES
from vc.clock import run_virtual
from vc.messages.codec import HEADER_SCHEMA, SCHEMA_VERSION_READ_MAX
from vc.messages.dead_letters import DeadLetter
from vc.messages.record import Message, TopicPartition
from vc.messages.topics import (
    DEAD_LETTERS,
    PLUGIN_REGISTRY,
    PLUGIN_REPLIES,
    PROGRESS,
    plugin_requests,
)
from vc.model.api.kinds import JOBS, PODS, QUEUES

JOBS_COUNT = 5
PODS_EACH = 3
QUESTION = msgspec.structs.replace(
    SAMPLES["plugin-request"], topic=plugin_requests("env").name, key="ml/asked"
)
WRITTEN = [message for name, message in SAMPLES.items() if name != "dead-letter"] + [QUESTION]
READ = (QUESTION.topic, PLUGIN_REPLIES.name, PLUGIN_REGISTRY.name, PROGRESS.name)
REFUSED = {*READ, *(kind.topic for kind in (JOBS, PODS, QUEUES))}
"""What somebody here reads; nobody follows sessions and usage, or is plugin svc."""


def newer(message: Message) -> Message:
    headers = {**message.headers, HEADER_SCHEMA: str(SCHEMA_VERSION_READ_MAX + 1)}
    return msgspec.structs.replace(message, headers=headers)


async def letters(stack: Stack) -> list[DeadLetter]:
    starts = await stack.bus.start_offsets(DEAD_LETTERS.name)
    positions = {TopicPartition(DEAD_LETTERS.name, p): s for p, s in enumerate(starts)}
    reader = await stack.bus.reader(positions)
    records = await reader.poll(max_records=100_000, wait_seconds=0)
    await reader.close()
    return [msgspec.msgpack.decode(r.value or b"", type=DeadLetter) for r in records]


@pytest.mark.parametrize("watcher_dies", [False, True], ids=["watcher stays", "watcher restarts"])
def test_messages_of_a_newer_release_end_nobody_and_lose_nothing(*, watcher_dies: bool) -> None:
    async def main() -> None:
        async with Stack(services=[*CORE, "podgroup-controller"]) as stack:
            names = [f"job-{number}" for number in range(JOBS_COUNT)]
            for name in names:
                await stack.submit(gang_job(name, replicas=PODS_EACH, run_seconds=3))
                await stack.clock.sleep(1)
                await stack.bus.publish([newer(message) for message in WRITTEN])
                if watcher_dies:
                    stack.kill("watcher")
            await stack.until(
                lambda: {stack.job(name).status.state.phase for name in names} == {"Completed"},
                seconds=180,
                what="all jobs completed",
            )
            assert stack.problems == []
            assert set(stack.created.values()) == {1}
            assert sum(stack.created.values()) == JOBS_COUNT * PODS_EACH
            assert [life for name, life in stack.lives.items() if len(life) > 1] == (
                [stack.lives["watcher"]] if watcher_dies else []
            )
            put_aside = await letters(stack)
            assert {letter.topic for letter in put_aside} == REFUSED
            assert all("upgrade it first" in letter.error for letter in put_aside)
            assert all(service.unready() == "" for service in stack.running.values())

    run_virtual(main())

"""The small parts of the store: uids, generated names, pod logs, background steps, event expiry."""

import asyncio

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api
from vc.clock import run_virtual
from vc.simcluster import Api
from vc.simcluster.controllers.event_expiry import EVENT_TTL_SECONDS
from vc.simcluster.schema.builtin_resources import EVENTS
from vc.simcluster.store.background import STEPS_PER_TURN_MAX, BackgroundSteps
from vc.simcluster.store.identity import fresh_uids, generated_name, seeded_uids
from vc.simcluster.store.pod_logs import LINE_LENGTH_MAX, LINES_MAX, PodLogs


def test_the_same_seed_gives_the_same_uids() -> None:
    one, two, other = seeded_uids(1), seeded_uids(1), seeded_uids(2)
    assert [one() for _ in range(3)] == [two() for _ in range(3)]
    assert one() != other()


def test_random_uids_differ() -> None:
    source = fresh_uids()
    assert len({source() for _ in range(100)}) == 100


@pytest.mark.parametrize("prefix", ["job-", "", "x" * 80])
def test_a_generated_name_has_five_characters_more_and_fits_a_label(prefix: str) -> None:
    name = generated_name(prefix, seeded_uids(7)())
    assert len(name) <= 63
    assert name.startswith(prefix[:58])
    suffix = name[len(prefix[:58]) :]
    assert len(suffix) == 5
    assert set(suffix) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_a_generated_name_is_a_function_of_the_uid() -> None:
    uid = seeded_uids(7)()
    assert generated_name("a-", uid) == generated_name("a-", uid)


def test_logs_keep_the_newest_lines() -> None:
    logs = PodLogs()
    for number in range(LINES_MAX + 5):
        logs.write("u", "main", str(number))
    lines = logs.read("u", "main").splitlines()
    assert (len(lines), lines[0], lines[-1]) == (LINES_MAX, "5", str(LINES_MAX + 4))


@pytest.mark.parametrize(("tail", "expected"), [(None, 3), (0, 0), (2, 2), (9, 3), (-1, 0)])
def test_the_tail_of_a_log(tail: int | None, expected: int) -> None:
    logs = PodLogs()
    for line in "abc":
        logs.write("u", "main", line)
    assert len(logs.read("u", "main", tail_lines=tail).splitlines()) == expected


def test_a_long_line_is_cut() -> None:
    logs = PodLogs()
    logs.write("u", "main", "x" * (LINE_LENGTH_MAX + 10))
    assert len(logs.read("u", "main")) == LINE_LENGTH_MAX + 1


def test_the_logs_of_a_removed_pod_are_dropped() -> None:
    logs = PodLogs()
    logs.write("u", "main", "a")
    logs.write("v", "main", "b")
    logs.forget("u", ["main", "absent"])
    assert (logs.read("u", "main"), logs.read("v", "main")) == ("", "b\n")


def test_steps_without_a_loop_wait_for_run() -> None:
    steps, done = BackgroundSteps(), []
    steps.add(lambda: done.append(1))
    assert done == []
    assert steps.run() == 1
    assert done == [1]


def test_run_includes_steps_that_steps_add() -> None:
    steps, done = BackgroundSteps(), []
    steps.add(lambda: steps.add(lambda: done.append(2)))
    assert steps.run() == 2
    assert done == [2]


def test_many_steps_let_other_tasks_run_in_between() -> None:
    async def story() -> None:
        steps, done = BackgroundSteps(), []
        for number in range(STEPS_PER_TURN_MAX + 1):
            steps.add(lambda number=number: done.append(number))  # type: ignore[misc]
        await asyncio.sleep(0)
        assert len(done) == STEPS_PER_TURN_MAX
        await asyncio.sleep(0)
        assert len(done) == STEPS_PER_TURN_MAX + 1
        assert done == sorted(done)

    run_virtual(story())


async def create_event(api: Api, name: str) -> None:
    await api.create(EVENTS, {"metadata": {"name": name}}, namespace="default")


def event_names(api: Api) -> list[str]:
    return [msgspec.json.decode(item)["metadata"]["name"] for item in api.list(EVENTS).items]


def test_events_expire_after_an_hour() -> None:
    """kube-apiserver --event-ttl, default 1h."""

    async def story() -> None:
        api = make_api()
        await create_event(api, "old")
        await asyncio.sleep(EVENT_TTL_SECONDS - 10)
        await create_event(api, "middle")
        assert event_names(api) == ["middle", "old"]
        await asyncio.sleep(20)
        await create_event(api, "new")
        await asyncio.sleep(0.01)
        assert event_names(api) == ["middle", "new"]

    run_virtual(story())


def test_an_event_that_is_written_again_lives_longer() -> None:
    async def story() -> None:
        api = make_api()
        await create_event(api, "repeated")
        await asyncio.sleep(EVENT_TTL_SECONDS - 10)
        event = api.get(EVENTS, name="repeated", namespace="default")
        await api.replace(EVENTS, {**event, "count": 2}, name="repeated", namespace="default")
        await asyncio.sleep(20)
        await create_event(api, "new")
        await asyncio.sleep(0.01)
        assert event_names(api) == ["new", "repeated"]

    run_virtual(story())

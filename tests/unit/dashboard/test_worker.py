"""The worker thread: one request at a time, every client the same share, and a time limit."""

import asyncio
import threading
from typing import Any

import pytest

from vc.dashboard import worker as heavy_module
from vc.dashboard.worker import (
    CLIENT,
    CLIENTS_REMEMBERED_MAX,
    WAITING_EACH_MAX,
    ShareError,
    TooSlowError,
    Worker,
)


def ask(heavy: Worker, client: str, function: Any, *args: Any) -> "asyncio.Task[Any]":
    async def asking() -> Any:
        CLIENT.set(client)
        return await heavy.run(function, *args)

    return asyncio.create_task(asking())


async def test_twenty_questions_of_one_client_do_not_keep_another_out() -> None:
    heavy, release, order = Worker(), threading.Event(), list[str]()
    first = ask(heavy, "greedy", release.wait, 10)
    await asyncio.sleep(0)
    more = [ask(heavy, "greedy", order.append, "greedy") for _ in range(20)]
    await asyncio.sleep(0.01)
    other = ask(heavy, "modest", order.append, "modest")
    await asyncio.sleep(0.01)
    release.set()
    await other
    await first
    outcomes = await asyncio.gather(*more, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, ShareError)]
    assert len(refused) == 20 - WAITING_EACH_MAX
    assert "of your questions wait already" in str(refused[0])
    assert order == ["modest", *["greedy"] * WAITING_EACH_MAX], "the modest one is next"


async def test_clients_take_turns() -> None:
    heavy, release, order = Worker(), threading.Event(), list[str]()
    first = ask(heavy, "z", release.wait, 10)
    await asyncio.sleep(0)
    tasks = [ask(heavy, name, order.append, name) for name in "aaabbbccc"]
    await asyncio.sleep(0.01)
    release.set()
    await asyncio.gather(first, *tasks)
    assert order == list("abcabcabc")


async def test_who_goes_away_while_waiting_loses_only_its_own_turn() -> None:
    heavy, release = Worker(), threading.Event()
    first = ask(heavy, "a", release.wait, 10)
    await asyncio.sleep(0)
    gone, stays = ask(heavy, "b", int), ask(heavy, "c", int)
    await asyncio.sleep(0.01)
    gone.cancel()
    await asyncio.sleep(0)
    release.set()
    assert await stays == 0
    assert await first
    assert await ask(heavy, "d", int) == 0


async def test_who_goes_away_while_its_question_runs_frees_the_lane_when_it_ends() -> None:
    heavy, release = Worker(), threading.Event()
    running = ask(heavy, "a", release.wait, 10)
    await asyncio.sleep(0.01)
    running.cancel()
    waits = ask(heavy, "b", int)
    await asyncio.sleep(0.05)
    assert not waits.done(), "there is never more than one thread"
    release.set()
    assert await waits == 0


async def test_a_question_that_takes_too_long_is_told_so_and_keeps_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heavy_module, "RUNNING_SECONDS_MAX", 0.05)
    heavy, release = Worker(), threading.Event()
    with pytest.raises(TooSlowError, match="takes longer than"):
        await heavy.run(release.wait, 10)
    waits = ask(heavy, "b", len, "abc")
    await asyncio.sleep(0.02)
    assert not waits.done()
    release.set()
    assert await waits == 3


async def test_a_question_that_raises_frees_the_lane() -> None:
    heavy = Worker()
    with pytest.raises(ValueError, match="invalid literal"):
        await heavy.run(int, "x")
    assert await heavy.run(int, "7") == 7


async def test_what_is_remembered_of_clients_is_bounded() -> None:
    heavy = Worker()
    for number in range(CLIENTS_REMEMBERED_MAX + 10):
        heavy._note_served(f"client-{number}")
    assert len(heavy._served) == CLIENTS_REMEMBERED_MAX

"""Bookmarks: the version that the client of an idle watch can resume from.

https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks
"""

import asyncio

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api
from tests.unit.simcluster.verbs.watching import Write, collect, create, make_pod_named, told
from vc.clock import run_virtual
from vc.model.api.kinds import CONFIGMAPS


class Idle(msgspec.Struct, frozen=True, kw_only=True):
    """One write that a watch for `x=1` in `default` does not show, and its bookmark."""

    id: str
    write: Write
    bookmarks: bool = True
    expected: list[str]


IDLE = [
    Idle(
        id="a change of another kind is followed by a bookmark",
        write=make_pod_named("p"),
        expected=["BOOKMARK"],
    ),
    Idle(
        id="a change that the label selector hides is followed by a bookmark",
        write=create("a", x="2"),
        expected=["BOOKMARK"],
    ),
    Idle(
        id="a change in another namespace is followed by a bookmark",
        write=create("a", namespace="kube-system", x="1"),
        expected=["BOOKMARK"],
    ),
    Idle(
        id="a change that is shown needs no bookmark",
        write=create("a", x="1"),
        expected=["ADDED a"],
    ),
    Idle(
        id="a client that did not ask for bookmarks gets none",
        write=create("a", x="2"),
        bookmarks=False,
        expected=[],
    ),
]


@pytest.mark.parametrize("case", IDLE, ids=lambda case: case.id)
def test_an_idle_watch_learns_the_version_by_a_bookmark(case: Idle) -> None:
    async def story() -> None:
        api = make_api()
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), namespace="default", label_selector="x=1",
            resource_version=str(api.store.version), timeout_seconds=10, bookmarks=case.bookmarks,
        )  # fmt: skip
        seen = asyncio.create_task(collect(watch))
        await asyncio.sleep(2)
        await case.write(api)
        events = await seen
        assert [told(event) for event in events] == case.expected
        assert all(event.resource_version == str(api.store.version) for event in events)

    run_virtual(story())


@pytest.mark.parametrize("pause_seconds", [0.1, 0.5, 0.9, 1.5, 3.0])
def test_a_watch_that_hides_frequent_changes_still_has_bookmarks(pause_seconds: float) -> None:
    """Otherwise its client would resume from a version that is no longer in the history."""

    async def story() -> None:
        api = make_api(history_max=30)
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), label_selector="x=1",
            resource_version=str(api.store.version), timeout_seconds=30,
        )  # fmt: skip
        known = [api.store.version]

        async def follow() -> None:
            async for event in watch:
                known[0] = int(event.resource_version)

        task = asyncio.create_task(follow())
        for number in range(int(20 / pause_seconds)):
            await create(f"hidden-{number}")(api)
            await asyncio.sleep(pause_seconds)
            resumed = api.watch(
                api.registry.for_kind(CONFIGMAPS), label_selector="x=1",
                resource_version=str(known[0]), timeout_seconds=0,
            )  # fmt: skip
            await collect(resumed)  # no GoneError
        await task
        assert known[0] == api.store.version

    run_virtual(story())


def test_bookmarks_of_hidden_changes_are_bounded_in_rate() -> None:
    async def story() -> None:
        api = make_api()
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), label_selector="x=1",
            resource_version=str(api.store.version), timeout_seconds=10,
        )  # fmt: skip
        seen = asyncio.create_task(collect(watch))
        for number in range(90):
            await create(f"hidden-{number}")(api)
            await asyncio.sleep(0.1)
        assert 5 <= len(await seen) <= 12

    run_virtual(story())


def test_a_bookmark_has_only_the_kind_and_the_version() -> None:
    async def story() -> None:
        api = make_api()
        version = api.store.version
        await make_pod_named("p")(api)
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), resource_version=str(version), timeout_seconds=1
        )
        (event,) = await collect(watch)
        assert msgspec.json.decode(event.object) == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(version + 1), "creationTimestamp": None},
        }

    run_virtual(story())

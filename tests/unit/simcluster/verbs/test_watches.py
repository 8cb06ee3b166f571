"""Watches: which events a client sees, and where a watch can start.

https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import asyncio

import msgspec
import pytest

from tests.unit.simcluster.stage import make_api
from tests.unit.simcluster.verbs.watching import (
    Write,
    collect,
    config,
    create,
    delete,
    label,
    make_pod_named,
    told,
)
from vc.clock import run_virtual
from vc.cluster.errors import BadRequestError, ClusterError, GoneError
from vc.cluster.interface import WatchEvent
from vc.model.api.kinds import CONFIGMAPS
from vc.simcluster.schema.builtin_resources import NAMESPACES


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Objects before the watch, writes after its start, and the events without bookmarks."""

    id: str
    before: list[Write] = []
    after: list[Write]
    labels: str = ""
    fields: str = ""
    namespace: str = ""
    events: list[str]


CASES = [
    Case(
        id="a new object is added",
        after=[create("a")],
        events=["ADDED a"],
    ),
    Case(
        id="a changed object is modified",
        before=[create("a")],
        after=[label("a", x="1")],
        events=["MODIFIED a"],
    ),
    Case(
        id="a removed object is deleted",
        before=[create("a")],
        after=[delete("a")],
        events=["DELETED a"],
    ),
    Case(
        id="a write that changes nothing has no event",
        before=[create("a", x="1")],
        after=[label("a", x="1")],
        events=[],
    ),
    Case(
        id="objects of another kind have no event",
        after=[make_pod_named("p")],
        events=[],
    ),
    Case(
        id="objects of another namespace have no event",
        namespace="default",
        after=[create("a", namespace="kube-system"), create("b")],
        events=["ADDED b"],
    ),
    Case(
        id="a watch over all namespaces sees each of them",
        after=[create("a", namespace="kube-system"), create("b")],
        events=["ADDED a", "ADDED b"],
    ),
    Case(
        id="an object that the label selector hides has no event",
        labels="x=1",
        after=[create("a", x="2"), create("b", x="1")],
        events=["ADDED b"],
    ),
    Case(
        id="an object that starts to match is added",
        labels="x=1",
        before=[create("a")],
        after=[label("a", x="1")],
        events=["ADDED a"],
    ),
    Case(
        id="an object that stops to match is deleted",
        labels="x=1",
        before=[create("a", x="1")],
        after=[label("a", x="2")],
        events=["DELETED a"],
    ),
    Case(
        id="an object that keeps matching is modified",
        labels="x",
        before=[create("a", x="1")],
        after=[label("a", x="2")],
        events=["MODIFIED a"],
    ),
    Case(
        id="the deletion of an object that does not match has no event",
        labels="x=1",
        before=[create("a", x="2")],
        after=[delete("a")],
        events=[],
    ),
    Case(
        id="the deletion of an object that matches has one",
        labels="x=1",
        before=[create("a", x="1")],
        after=[delete("a")],
        events=["DELETED a"],
    ),
    Case(
        id="an object that stopped to match is not deleted a second time",
        labels="x=1",
        before=[create("a", x="1")],
        after=[label("a", x=None), delete("a")],
        events=["DELETED a"],
    ),
    Case(
        id="a field selector for one name watches one object",
        fields="metadata.name=b",
        after=[create("a"), create("b"), label("b", x="1"), delete("a")],
        events=["ADDED b", "MODIFIED b"],
    ),
    Case(
        id="an object that is created again is added again",
        before=[create("a")],
        after=[delete("a"), create("a")],
        events=["DELETED a", "ADDED a"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_which_events_a_watch_has(case: Case) -> None:
    async def story() -> None:
        api = make_api()
        for write in case.before:
            await write(api)
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), namespace=case.namespace,
            label_selector=case.labels, field_selector=case.fields,
            resource_version=str(api.store.version), timeout_seconds=5, bookmarks=False,
        )  # fmt: skip
        seen = asyncio.create_task(collect(watch))
        await asyncio.sleep(1)
        for write in case.after:
            await write(api)
        assert [told(event) for event in await seen] == case.events

    run_virtual(story())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_watch_that_starts_later_has_the_same_events(case: Case) -> None:
    """The history is replayed from the version, so no event depends on when a client connects."""

    async def story() -> None:
        api = make_api()
        for write in case.before:
            await write(api)
        version = str(api.store.version)
        for write in case.after:
            await write(api)
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), namespace=case.namespace,
            label_selector=case.labels, field_selector=case.fields,
            resource_version=version, timeout_seconds=1, bookmarks=False,
        )  # fmt: skip
        assert [told(event) for event in await collect(watch)] == case.events

    run_virtual(story())


def versions(events: list[WatchEvent]) -> list[int]:
    return [int(event.resource_version) for event in events]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_versions_of_a_watch_only_grow(case: Case) -> None:
    async def story() -> None:
        api = make_api()
        for write in case.before:
            await write(api)
        start = api.store.version
        for write in case.after:
            await write(api)
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), namespace=case.namespace,
            label_selector=case.labels, field_selector=case.fields,
            resource_version=str(start), timeout_seconds=3,
        )  # fmt: skip
        seen = versions(await collect(watch))
        assert seen == sorted(set(seen))
        # With bookmarks the client ends at the newest version, whatever it could see.
        assert (seen or [start])[-1] == api.store.version

    run_virtual(story())


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """How a watch over two objects starts, and its first events."""

    id: str
    version: str = ""
    initial: bool = False
    events: list[str]


STARTS = [
    Start(id="no version starts with the existing objects", events=["ADDED a", "ADDED b"]),
    Start(id="version 0 does, too", version="0", events=["ADDED a", "ADDED b"]),
    Start(id="a version starts after it", version="now", events=[]),
    Start(
        id="sendInitialEvents ends the existing objects with a bookmark",
        initial=True,
        events=["ADDED a", "ADDED b", "BOOKMARK"],
    ),
    Start(
        id="sendInitialEvents starts with the objects even if a version is given",
        version="now",
        initial=True,
        events=["ADDED a", "ADDED b", "BOOKMARK"],
    ),
]


@pytest.mark.parametrize("case", STARTS, ids=lambda case: case.id)
def test_how_a_watch_starts(case: Start) -> None:
    async def story() -> None:
        api = make_api()
        resource = api.registry.for_kind(CONFIGMAPS)
        for name in ("b", "a"):
            await api.create(resource, config(name), namespace="default")
        version = str(api.store.version) if case.version == "now" else case.version
        watch = api.watch(
            resource, namespace="default", resource_version=version, timeout_seconds=1,
            send_initial_events=case.initial,
        )  # fmt: skip
        events = await collect(watch)
        assert [told(event) for event in events] == case.events
        if case.initial:
            meta = msgspec.json.decode(events[-1].object)["metadata"]
            assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}

    run_virtual(story())


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A watch that cannot start."""

    id: str
    version: str = "1"
    labels: str = ""
    fields: str = ""
    error: type[ClusterError]
    code: int


REFUSED = [
    Refused(id="a version that was compacted is 410 Gone", error=GoneError, code=410),
    Refused(id="a version of the future is 410 Gone", version="1000000", error=GoneError, code=410),
    Refused(id="a version that is no number", version="x", error=BadRequestError, code=400),
    Refused(id="a negative version", version="-1", error=BadRequestError, code=400),
    Refused(
        id="a label selector that cannot be parsed",
        labels="a in (",
        error=BadRequestError,
        code=400,
    ),
    Refused(
        id="a field that is not selectable", fields="data.a=1", error=BadRequestError, code=400
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_a_watch_that_cannot_start_is_an_error(case: Refused) -> None:
    async def story() -> None:
        api = make_api()
        resource = api.registry.for_kind(CONFIGMAPS)
        await api.create(resource, config("a"), namespace="default")
        api.compact()

        async def watch() -> None:
            events = api.watch(
                resource,
                resource_version=case.version,
                label_selector=case.labels,
                field_selector=case.fields,
                timeout_seconds=1,
            )
            await collect(events)

        with pytest.raises(case.error) as caught:
            await watch()
        assert caught.value.code == case.code

    run_virtual(story())


def test_the_last_event_of_a_deleted_object_has_the_version_of_the_deletion() -> None:
    async def story() -> None:
        api = make_api()
        await create("a")(api)
        version = api.store.version
        await delete("a")(api)
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), resource_version=str(version), timeout_seconds=1
        )
        (event,) = await collect(watch)
        body = msgspec.json.decode(event.object)
        assert body["metadata"]["resourceVersion"] == str(version + 1) == event.resource_version

    run_virtual(story())


def test_an_object_that_stops_to_match_is_reported_in_its_last_matching_state() -> None:
    async def story() -> None:
        api = make_api()
        await create("a", x="1")(api)
        version = api.store.version
        await label("a", x="2")(api)
        watch = api.watch(
            api.registry.for_kind(CONFIGMAPS), label_selector="x=1",
            resource_version=str(version), timeout_seconds=1,
        )  # fmt: skip
        (event,) = await collect(watch)
        assert msgspec.json.decode(event.object)["metadata"]["labels"] == {"x": "1"}
        assert event.resource_version == str(version + 1)

    run_virtual(story())


def test_cluster_scoped_objects_are_watched_without_a_namespace() -> None:
    async def story() -> None:
        api = make_api()
        version = str(api.store.version)
        await api.create(NAMESPACES, {"metadata": {"name": "team"}})
        watch = api.watch(
            NAMESPACES, namespace="ignored", resource_version=version, timeout_seconds=1
        )
        assert [told(event) for event in await collect(watch)] == ["ADDED team"]

    run_virtual(story())

"""The HTTP implementation of `Cluster`.

Every shell calls it through `Context.cluster`; only the watcher lists and watches. It builds on
`kubernetes_config` (address and credentials), `kubernetes_http` (one request: deadline, slots,
repeated reads, count), `kubernetes_watch` (bytes to events), `kubernetes_errors` (error responses)
and `kubernetes_request` (paths and bodies). It keeps no state between calls, so one
`KubernetesCluster` can serve any number of services in a process.

Preconditions are part of the request, and the API server checks them in the same transaction as the
write: in `metadata` of a patch and a binding, in the options of a delete and an eviction.
"""

import math
import os
import random
from collections.abc import AsyncGenerator, Mapping
from typing import Final, TypeVar

import msgspec

from vc.clock import Clock, LoopClock
from vc.cluster.errors import ConflictError, GoneError, InvalidError, ServerError
from vc.cluster.interface import ListPage, Preconditions, WatchEvent
from vc.cluster.kubernetes_config import find_source, open_configuration
from vc.cluster.kubernetes_date import DateListener, no_listener
from vc.cluster.kubernetes_errors import is_other_uid
from vc.cluster.kubernetes_http import ApiConnection, Call, Limits
from vc.cluster.kubernetes_request import (
    collection_path,
    delete_options,
    given,
    object_path,
    typed,
    with_preconditions,
)
from vc.cluster.kubernetes_watch import EventReader, SilentServerError
from vc.model.api.kinds import LEASES, PODS, Kind
from vc.model.api.struct import JsonObject
from vc.model.values.bounded import read_version

_T = TypeVar("_T")

LEASE_REQUESTS_MAX: Final = 4
"""Limit per process; each held Lease has at most one request in flight."""

MERGE_PATCH: Final = "application/merge-patch+json"


async def connect(
    *,
    service: str,
    kubeconfig: str = "",
    context: str = "",
    environment: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    clock: Clock | None = None,
    rng: random.Random | None = None,
    on_date: DateListener = no_listener,
) -> "KubernetesCluster":
    """Connect to the cluster that KUBECONFIG, `kubeconfig` or the pod's service account names.

    No request is sent yet; an unreachable server is noticed at the first call. `on_date` receives
    the `Date` of each response. Raises ConfigurationError if no cluster is configured.
    """
    env = os.environ if environment is None else environment
    clock = clock or LoopClock()
    source = find_source(env, kubeconfig=kubeconfig)
    access = await open_configuration(source, clock=clock, context=context, environment=env)
    connection = ApiConnection(
        access,
        service=service,
        clock=clock,
        limits=limits or Limits(),
        rng=rng or random.Random(),
        on_date=on_date,
    )
    return KubernetesCluster(connection)


class _ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    items: list[msgspec.Raw] | None = None


_list_decoder: Final = msgspec.json.Decoder(_List)
_object_decoder: Final = msgspec.json.Decoder(JsonObject)
_encoder: Final = msgspec.json.Encoder()


class KubernetesCluster:
    """`Cluster` over HTTP; created by `connect`."""

    def __init__(self, connection: ApiConnection) -> None:
        self._connection = connection
        self._leases: ApiConnection | None = None
        """Opened by the first request about a Lease, so that a renewal never waits for a slot or
        socket used by other requests.
        """
        self._limits = connection.limits
        self.requests = connection.requests
        """Number of requests by verb and `Kind.short`,
        for metrics and for tests that count writes.
        """

    async def list(
        self,
        kind: Kind,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ListPage:
        query = given(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(limit) if limit else "",
            **{"continue": continue_token},
        )
        path = collection_path(kind, namespace)
        call = Call(
            verb="list",
            kind=kind.short,
            method="GET",
            path=path,
            query=query,
            seconds_max=self._limits.list_seconds_max,
            repeatable=True,
        )
        page = _decode(_list_decoder, await self._way(kind).call(call), doing=str(call))
        return ListPage(
            items=[bytes(item) for item in page.items or ()],
            resource_version=page.metadata.resource_version,
            continue_token=page.metadata.continue_,
        )

    async def watch(
        self,
        kind: Kind,
        *,
        resource_version: str,
        namespace: str = "",
        timeout_seconds: float = 300.0,
    ) -> AsyncGenerator[WatchEvent, None]:
        query = given(
            watch="1",
            # Bookmarks advance the version of a quiet kind, so that it can be watched from there
            # without a relist. They also show that the watch is alive (docs/protocol.md 5).
            allowWatchBookmarks="true",
            resourceVersion=resource_version,
            # Rounded up, because our reader ends the watch at the exact time and the server must
            # not do so earlier.
            timeoutSeconds=str(max(1, math.ceil(timeout_seconds))),
        )
        call = Call(
            verb="watch",
            kind=kind.short,
            method="GET",
            path=collection_path(kind, namespace),
            query=query,
            seconds_max=self._limits.watch_open_seconds_max,
        )
        # The time-out counts from the request, not from the first event.
        reader = EventReader(doing=str(call), timeout_seconds=timeout_seconds)
        reached = resource_version
        stream = await self._connection.open(call)
        try:
            while chunk := await reader.read(stream.content):
                for event in reader.feed(chunk):
                    yield event
                    # Only after the yield: an event counts when the caller has processed it.
                    reached = event.resource_version
        except SilentServerError as error:
            # A silent server may be one that was restored from a backup.
            await self._look_behind(kind, namespace, reached)
            raise ServerError(error.message) from error
        finally:
            stream.close()

    async def get(self, kind: Kind, *, name: str, namespace: str = "") -> JsonObject:
        call = Call(
            verb="get",
            kind=kind.short,
            method="GET",
            path=object_path(kind, namespace, name),
            seconds_max=self._limits.get_seconds_max,
            repeatable=True,
        )
        return _decode(_object_decoder, await self._way(kind).call(call), doing=str(call))

    async def create(self, kind: Kind, body: JsonObject, *, namespace: str = "") -> JsonObject:
        path = collection_path(kind, namespace)
        return await self._write("create", kind, method="POST", path=path, body=typed(kind, body))

    async def replace(
        self, kind: Kind, body: JsonObject, *, namespace: str = "", subresource: str = ""
    ) -> JsonObject:
        name = body.get("metadata", {}).get("name", "")
        path = object_path(kind, namespace, name, subresource)
        return await self._write("replace", kind, method="PUT", path=path, body=typed(kind, body))

    async def patch(
        self,
        kind: Kind,
        patch: JsonObject,
        *,
        name: str,
        namespace: str = "",
        subresource: str = "",
        preconditions: Preconditions | None = None,
    ) -> JsonObject:
        try:
            return await self._write(
                "patch",
                kind,
                method="PATCH",
                path=object_path(kind, namespace, name, subresource),
                body=with_preconditions(patch, preconditions),
                content_type=MERGE_PATCH,
            )
        except InvalidError as error:
            # An API server reports a wrong uid in a patch as a change of an immutable field.
            if preconditions and preconditions.uid and is_other_uid(error):
                raise ConflictError(error.message, details=error.details) from error
            raise

    async def delete(
        self,
        kind: Kind,
        *,
        name: str,
        namespace: str = "",
        preconditions: Preconditions | None = None,
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> None:
        options = delete_options(preconditions, grace_seconds)
        if propagation:
            options["propagationPolicy"] = propagation
        path = object_path(kind, namespace, name)
        # Preconditions of a delete are part of its options, not of the query.
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        await self._write("delete", kind, method="DELETE", path=path, body=body)

    async def bind(
        self,
        *,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: dict[str, str] | None = None,
    ) -> None:
        metadata: JsonObject = {"name": name, "namespace": namespace, "uid": uid}
        if annotations:
            metadata["annotations"] = annotations
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        # The uid in the body makes the server reject a pod that was created again.
        path = object_path(PODS, namespace, name, "binding")
        await self._write("bind", PODS, method="POST", path=path, body=body)

    async def evict(
        self, *, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> None:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": delete_options(Preconditions(uid=uid), grace_seconds),
        }
        path = object_path(PODS, namespace, name, "eviction")
        try:
            await self._write("evict", PODS, method="POST", path=path, body=body)
        except ServerError:
            await self._look_again(namespace, name, uid)
            raise

    async def _look_again(self, namespace: str, name: str, uid: str) -> None:
        """Distinguish another pod of the same name from a slow server.

        The API server treats a different uid as a race and retries for ten seconds before it
        reports an error; that eviction must not be repeated.
        """
        found = (await self.get(PODS, name=name, namespace=namespace))["metadata"]["uid"]
        if found != uid:
            raise ConflictError(f"evict pod {name!r}: its uid is {found}, not {uid}")

    async def _look_behind(self, kind: Kind, namespace: str, reached: str) -> None:
        """Raises GoneError if the server is behind the version we watch from.

        It was restored to an older state (etcd from a backup) and would send nothing until it
        reaches that version again. Only a list reveals this.
        """
        # A list without a version is a consistent read, so it has the server's true version.
        now = (await self.list(kind, namespace=namespace, limit=1)).resource_version
        if 0 < read_version(now) < read_version(reached):
            raise GoneError(f"{kind.plural}: watched from {reached}, but the server is at {now}")

    async def date(self) -> float:
        # Every account may read the version, and the server does not query etcd for it.
        call = Call(
            verb="get",
            kind="version",
            method="GET",
            path="/version",
            seconds_max=self._limits.get_seconds_max,
        )
        return await self._connection.date(call)

    async def close(self) -> None:
        if self._leases is not None:
            await self._leases.close()
        await self._connection.close()

    def _way(self, kind: Kind) -> ApiConnection:
        """The connection for requests about a kind."""
        if kind is not LEASES:
            return self._connection
        # Opened on first use, because not every process holds a Lease.
        if self._leases is None:
            limits = msgspec.structs.replace(
                self._limits, requests_max=LEASE_REQUESTS_MAX, watches_max=1
            )
            self._leases = self._connection.beside(limits)
        return self._leases

    async def _write(
        self,
        verb: str,
        kind: Kind,
        *,
        method: str,
        path: str,
        body: JsonObject,
        content_type: str = "application/json",
    ) -> JsonObject:
        seconds = self._limits.write_seconds_max
        call = Call(
            verb=verb,
            kind=kind.short,
            method=method,
            path=path,
            query={"timeout": f"{seconds:g}s"},  # so that the server gives up at the same time
            body=_encoder.encode(body),
            content_type=content_type,
            seconds_max=seconds,
        )
        return _decode(_object_decoder, await self._way(kind).call(call), doing=str(call))


def _decode(decoder: "msgspec.json.Decoder[_T]", body: bytes, *, doing: str) -> _T:
    """Decode a successful response. An undecodable one is a fault of the server or a proxy, and
    whether the write was applied is unknown.
    """
    try:
        return decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise ServerError(f"{doing}: the answer cannot be read: {error}") from error

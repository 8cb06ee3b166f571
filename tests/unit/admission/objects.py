"""Small valid objects to break in one place, and a function that reviews them."""

import copy
from typing import Any

import msgspec

from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import BY_PATH
from vc.admission.logic.webhook.wire import ReviewResponse
from vc.model.api.kubernetes import Namespace
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import Queue
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat
from vc.validation.request import CREATE, ReviewRequest
from vc.validation.world import Settings, World


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An object, and the text of its refusal; empty if it is accepted."""

    says: str
    object: JsonObject
    refused: str = ""


def case_id(case: Any) -> str:
    return str(case.says)


def queue(name: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": True, **spec},
    }


def read_queue(raw: JsonObject, **status: Any) -> Queue:
    return msgspec.convert({**raw, "status": status}, Queue)


def template(**spec: Any) -> JsonObject:
    container = {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": "1"}}}
    return {"spec": {"containers": [container], **spec}}


def task(name: str = "worker", replicas: int = 2, **fields: Any) -> JsonObject:
    return {"name": name, "replicas": replicas, "template": template(), **fields}


def job(name: str = "train", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "schedulerName": "volcano",
            "queue": "default",
            "minAvailable": 2,
            "maxRetry": 3,
            "tasks": [task()],
            **spec,
        },
    }


def without(raw: JsonObject, *path: str) -> JsonObject:
    """A copy with the member at the path removed."""
    copied = copy.deepcopy(raw)
    inner = copied
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return copied


def world(*queues: Queue, compat: Compat = Compat.LENIENT, **settings: Any) -> World:
    """Root and default, the given queues, and a namespace with a queue of its own."""
    base = [Queue(metadata=ObjectMeta(name=name)) for name in ("root", "default")]
    annotated = ObjectMeta(
        name="team", annotations={"scheduling.volcano.sh/queue-name": "team-queue"}
    )
    grown = World(settings=Settings(compat=compat, **settings))
    return grown.with_queues([*base, *queues]).with_namespaces([Namespace(metadata=annotated)])


def ask(
    path: str,
    raw: JsonObject | None,
    known: World | None = None,
    *,
    old: JsonObject | None = None,
    operation: str = CREATE,
    name: str = "",
    namespace: str = "ml",
) -> ReviewResponse:
    request = ReviewRequest(
        uid="1", operation=operation, name=name, namespace=namespace, object=raw, old_object=old
    )
    return review(request, world() if known is None else known, endpoint=BY_PATH[path])


def assert_answers(response: ReviewResponse, refused: str) -> None:
    """Accepted, or refused with a message that holds the text."""
    assert response.allowed is (not refused), response.message
    assert refused in response.message, response.message


def cron_like() -> JsonObject:
    """A valid CronJob."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job()["spec"]}},
    }

"""Small valid objects of the other kinds: PodGroup, Pod, CronJob, JobFlow, HyperNode."""

from typing import Any

from tests.unit.admission.objects import (
    job,
    queue,
    read_queue,
    world,
)
from vc.model.api.struct import JsonObject

KNOWN = world(
    read_queue(queue("closed"), state="Closed"),
    time_zones=frozenset({"Europe/Berlin"}),
    queue_allocation_gate=True,
)


def group(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "g"}, "spec": {"minMember": 1, **spec}}


def pod(annotations: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"schedulerName": "volcano", **spec},
    }


STORED = {"volcano.sh/allow-unsupported": "true"}
"""On kinds that no controller runs."""


def cron(name: str = "nightly", **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": name, "annotations": STORED},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job()["spec"]}, **spec},
    }


def flow(*flows: JsonObject, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "f", "annotations": STORED},
        "spec": {"flows": list(flows), **spec},
    }


def member(selector: JsonObject, kind: str = "Node") -> JsonObject:
    return {"type": kind, "selector": selector}


def hypernode(*members: JsonObject, tier: int = 1) -> JsonObject:
    return {"metadata": {"name": "h"}, "spec": {"tier": tier, "members": list(members)}}

"""Defaults of a queue that is created."""

from typing import Final

from vc.model.api.keys import HIERARCHY, HIERARCHY_WEIGHTS, ROOT_QUEUE
from vc.model.api.scheduling import Queue
from vc.model.api.struct import JsonObject

WEIGHT: Final = 1
ROOT_WEIGHT: Final = "1"


def default_queue(raw: JsonObject, queue: Queue) -> JsonObject:
    """The raw queue with its defaults. `queue` is the same object, decoded."""
    spec = {**raw["spec"]} if isinstance(raw.get("spec"), dict) else {}
    if queue.spec.reclaimable is None:
        spec["reclaimable"] = True
    # 0 is the zero value of Go clients and counts as absent.
    if queue.spec.weight == 0 or spec.get("weight") is None:
        spec["weight"] = WEIGHT
    grown = {**raw, "spec": spec}
    annotations = queue.metadata.annotations
    path, weights = annotations.get(HIERARCHY, ""), annotations.get(HIERARCHY_WEIGHTS, "")
    # Paths of the old hierarchy annotation may omit the root, but readers expect it.
    if path and weights and path.split("/")[0] != ROOT_QUEUE:
        rooted = {
            **raw["metadata"]["annotations"],
            HIERARCHY: f"{ROOT_QUEUE}/{path}",
            HIERARCHY_WEIGHTS: f"{ROOT_WEIGHT}/{weights}",
        }
        grown["metadata"] = {**raw["metadata"], "annotations": rooted}
    return grown

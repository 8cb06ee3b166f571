"""Applies the remedy `remove-field`: removes an unsupported field from the objects of a job."""

import copy
import re
from typing import Final

import msgspec

from vc.messages.sessions import Unblock
from vc.model.api.graft import to_json
from vc.model.api.meta import ApiObject
from vc.model.api.scheduling import PodGroup, Queue
from vc.model.api.struct import Json
from vc.scheduling.explain.cluster_objects import CannotApplyError, Cluster, find, members

_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
"""One step of a path: a name, or an index or key in brackets."""


def remove_field(cluster: Cluster, remedy: Unblock, group: str) -> None:
    """Remove the field from the group, from its queue, or from every pod of the group."""
    kind, name, path = remedy.target.split(" ")
    objects: list[ApiObject]
    if kind == "podgroup":
        objects = [find(cluster, PodGroup, group)]
    elif kind == "queue":
        objects = [find(cluster, Queue, name)]
    elif kind == "pod":
        objects = list(members(cluster, group))
    else:
        raise CannotApplyError(f"a field of {kind} cannot be removed")
    for known in objects:
        cluster.put(msgspec.convert(without_field(to_json(known), path), type(known)))


def without_field(written: Json, path: str) -> Json:
    """Return a copy without the value at a path.

    Paths look like `spec.list[0].field` or `metadata.labels[key]`.
    """
    steps = [bracketed or plain for bracketed, plain in _STEP.findall(path)]
    copied = inner = copy.deepcopy(written)
    for step in steps[:-1]:
        inner = inner[int(step)] if isinstance(inner, list) else inner.get(step, {})
    if isinstance(inner, list):
        del inner[int(steps[-1])]
    else:
        inner.pop(steps[-1], None)
    return copied

"""Pods that are equal for placement share a shape.

A shape is what the scheduler may look at when it asks where a pod can go: the request and the
constraints on nodes. Pods of a task are equal, so a mask, a capacity and a score are computed once
per shape and node, never per pod. Two shapes are the same when their keys are; the key is bytes, so
its order and hash do not depend on the process.
"""

from typing import Any, Final

import msgspec

from vc_model.bounded import read_integer
from vc_model.faults import describe
from vc_model.images import image_id
from vc_model.pod import PodSpec, Toleration
from vc_model.selectors import LabelSelectorRequirement
from vc_scheduler.logic.amounts import NOT_REQUESTED, Problems, pod_request
from vc_scheduler.logic.peering import (
    NO_PEERING,
    WEIGHT_MAX,
    Peering,
    claim_names,
    host_ports,
    part_of,
    read_peering,
    written_peers,
)

INTERNED_MAX: Final = 20_000
"""Shapes remembered before we start afresh; forgetting costs time, nothing else."""

_NAME_FIELD: Final = "metadata.name"
_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")


class NodeTerm(msgspec.Struct, frozen=True):
    """One alternative of a required node affinity: all of its conditions must hold."""

    labels: tuple[LabelSelectorRequirement, ...]
    fields: tuple[LabelSelectorRequirement, ...]


class Constraints(msgspec.Struct, frozen=True):
    """Which nodes a pod may go to, whatever it asks for."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None
    """Alternatives; None when there is no required affinity, empty when nothing can match."""
    tolerations: tuple[Toleration, ...] = ()


class Shape(msgspec.Struct, frozen=True, eq=False):
    """Equal requests, equal constraints. Shapes are compared by `key`."""

    key: bytes
    request: tuple[tuple[str, int], ...]
    """By resource name; `pods` is always among them."""
    constraints: Constraints
    constraints_key: bytes
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    """Weights and the nodes it would rather go to."""
    peering: Peering = NO_PEERING
    """What it says about other pods."""
    problem: str = ""
    """Why a pod of this shape cannot be placed at all."""
    images: tuple[str, ...] = ()
    """One per container, as `vc_model.images.image_id` names them. No part of the key: images say where
    a pod would rather be, and what fits where is worked out once for shapes that differ in nothing else."""

    @property
    def best_effort(self) -> bool:
        """Asks for nothing but a place."""
        return all(name in NOT_REQUESTED for name, _ in self.request)


class _Written(msgspec.Struct, frozen=True):
    """The parts of a pod's spec that make its shape, as written: the key of the fast path."""

    resources: list[Any]
    init: list[Any]
    overhead: dict[str, Any]
    selector: dict[str, str]
    affinity: Any
    tolerations: list[Toleration]
    peers: Any
    spread: list[Any]
    ports: tuple[Any, ...]
    claims: tuple[Any, ...]
    images: tuple[str, ...]
    held: dict[str, Any]


class Shapes:
    """Gives equal pods one shape, without parsing what was parsed before."""

    def __init__(self) -> None:
        self._by_text: dict[bytes, Shape] = {}
        self._by_key: dict[tuple[bytes, tuple[str, ...]], Shape] = {}

    def of(self, spec: PodSpec) -> Shape:
        """The shape of a pod."""
        affinity = spec.affinity or {}
        written = _Written(
            resources=[spec.resources, *(c.resources for c in spec.containers)],
            init=[(c.resources, c.restart_policy) for c in spec.init_containers],
            overhead=spec.overhead,
            selector=spec.node_selector,
            affinity=affinity.get("nodeAffinity"),
            tolerations=spec.tolerations,
            peers=written_peers(affinity),
            spread=list(spec.topology_spread_constraints),
            ports=host_ports(spec),
            claims=claim_names(spec),
            images=_image_names(spec),
            held=spec.held_requests,
        )
        try:
            text = _encoder.encode(written)
        except (
            OverflowError,
            RecursionError,
        ):  # numbers or nesting that nobody means: read by itself
            return _read(spec)
        shape = self._by_text.get(text)
        if shape is None:
            if len(self._by_text) >= INTERNED_MAX:
                self._by_text.clear()
                self._by_key.clear()
            shape = _read(spec)
            shape = self._by_text[text] = self._by_key.setdefault((shape.key, shape.images), shape)
        return shape


def _read(spec: PodSpec) -> Shape:
    problems = Problems()
    request = pod_request(spec, problems)
    constraints = Constraints(
        selector=tuple(sorted(spec.node_selector.items())),
        terms=_required_terms(spec, problems),
        tolerations=tuple(spec.tolerations),
    )
    peering = read_peering(spec, problems)
    preferred = _preferred_terms(spec, problems)
    constraints_key = _encoder.encode(constraints)
    amounts = tuple(sorted(request.items()))
    problem = str(problems)
    return Shape(
        key=_encoder.encode((amounts, problem, peering, preferred)) + constraints_key,
        request=amounts,
        constraints=constraints,
        constraints_key=constraints_key,
        preferred=preferred,
        peering=peering,
        problem=problem,
        images=_images(spec),
    )


def broken_shape(shape: Shape, problem: str) -> Shape:
    """The same requests, of a pod that cannot be placed."""
    return msgspec.structs.replace(
        shape, key=shape.key + problem.encode(errors="replace"), problem=problem
    )


def _image_names(spec: PodSpec) -> tuple[str, ...]:
    return tuple(c.image for listed in (spec.init_containers, spec.containers) for c in listed)


def _images(spec: PodSpec) -> tuple[str, ...]:
    """In an order of their own: which container runs which is all the same."""
    names = _image_names(spec)
    return tuple(sorted(map(image_id, names))) if any(names) else ()


def _required_terms(spec: PodSpec, problems: Problems) -> tuple[NodeTerm, ...] | None:
    """The alternatives of the required node affinity; one that cannot be read is a problem."""
    affinity = part_of(spec, "nodeAffinity", problems)
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return node_terms(required, problems) if required else None


def node_terms(selector: Any, problems: Problems) -> tuple[NodeTerm, ...]:
    """The alternatives of a node selector; one that cannot be read is a problem."""
    terms: list[NodeTerm] = []
    try:
        for written in selector.get("nodeSelectorTerms") or []:
            term = _node_term(written, problems)
            if term is not None:
                terms.append(term)
    except Exception as error:  # noqa: BLE001 - free in its form
        problems.add(f"node affinity: {describe(error)}")
    return tuple(terms)


def _node_term(written: Any, problems: Problems) -> NodeTerm | None:
    """None for an empty term, which matches nothing."""
    labels = _requirements(written.get("matchExpressions"))
    fields = _requirements(written.get("matchFields"))
    if any(need.key != _NAME_FIELD for need in fields):
        problems.add("node affinity: matchFields knows only metadata.name")
    return NodeTerm(labels=labels, fields=fields) if labels or fields else None


def _preferred_terms(spec: PodSpec, problems: Problems) -> tuple[tuple[int, NodeTerm], ...]:
    affinity = part_of(spec, "nodeAffinity", problems)
    found: list[tuple[int, NodeTerm]] = []
    try:
        for wish in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            term = _node_term(wish.get("preference") or {}, problems)
            weight = _weight(wish)
            if term is not None and weight:
                found.append((weight, term))
    except Exception as error:  # noqa: BLE001 - free in its form
        problems.add(f"node affinity: {describe(error)}")
    return tuple(found)


def _weight(wish: Any) -> int:
    """Of a preferred term; what is no number weighs nothing."""
    return max(0, min(read_integer(wish.get("weight")) or 0, WEIGHT_MAX))


def _requirements(written: Any) -> tuple[LabelSelectorRequirement, ...]:
    listed = msgspec.convert(written or [], list[LabelSelectorRequirement])
    for need in listed:
        if need.operator not in _OPERATORS:
            raise TypeError(f"operator {need.operator!r} is not one of {', '.join(_OPERATORS)}")
    return tuple(listed)


_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")

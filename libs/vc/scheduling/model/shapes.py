"""Pods that are equal for placement share a shape (an equivalence class).

A shape is everything that decides where a pod can be placed: its request and its constraints on
nodes. Pods of a task are equal, so masks, capacities and scores are computed once per shape and
node, never per pod. Two shapes are the same if their keys are equal. The key is bytes, so its order
and hash do not depend on the process.
"""

from typing import Any, Final

import msgspec

from vc.model.api.images import image_id
from vc.model.api.pod import PodSpec, Toleration
from vc.model.api.selectors import LabelSelectorRequirement
from vc.model.faults import describe
from vc.model.values.bounded import read_integer
from vc.scheduling.model.amounts import NOT_REQUESTED, Problems, pod_request
from vc.scheduling.model.pod_affinity_terms import (
    NO_POD_TERMS,
    WEIGHT_MAX,
    PodAffinityTerms,
    claim_names,
    host_ports,
    part_of,
    read_pod_affinity_terms,
    written_pod_affinity,
)

INTERNED_MAX: Final = 20_000
"""The maximum number of cached shapes. Clearing the cache costs time, but changes no result."""

_NAME_FIELD: Final = "metadata.name"
_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")


class NodeTerm(msgspec.Struct, frozen=True):
    """One alternative of a required node affinity. All of its requirements must hold."""

    labels: tuple[LabelSelectorRequirement, ...]
    fields: tuple[LabelSelectorRequirement, ...]


class Constraints(msgspec.Struct, frozen=True):
    """The nodes allowed for a pod, regardless of its request."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None
    """Alternatives; None without required affinity, empty if no node can match."""
    tolerations: tuple[Toleration, ...] = ()


class Shape(msgspec.Struct, frozen=True, eq=False):
    """Pods with equal requests and equal constraints. Shapes are compared by `key`."""

    key: bytes
    request: tuple[tuple[str, int], ...]
    """By resource name; `pods` is always included."""
    constraints: Constraints
    constraints_key: bytes
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    """Preferred node affinity terms with their weights."""
    pod_terms: PodAffinityTerms = NO_POD_TERMS
    """Terms about other pods, and host ports and claims."""
    problem: str = ""
    """Why a pod of this shape cannot be placed at all."""
    images: tuple[str, ...] = ()
    """One per container, as named by `vc.model.api.images.image_id`. Images only affect scores, so
    they are not part of the key: shapes that differ only in images share their capacities."""

    @property
    def best_effort(self) -> bool:
        """Whether it requests nothing."""
        return all(name in NOT_REQUESTED for name, _ in self.request)


class _Written(msgspec.Struct, frozen=True):
    """The parts of a pod spec that determine its shape, as written. Their encoding is the cache key."""

    resources: list[Any]
    init: list[Any]
    overhead: dict[str, Any]
    selector: dict[str, str]
    affinity: Any
    tolerations: list[Toleration]
    pod_affinity: Any
    spread: list[Any]
    ports: tuple[Any, ...]
    claims: tuple[Any, ...]
    images: tuple[str, ...]
    held: dict[str, Any]


class Shapes:
    """Returns one shape for equal pods, and parses equal specs only once."""

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
            pod_affinity=written_pod_affinity(affinity),
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
        ):  # absurd numbers or nesting: not cached
            return _read(spec)
        shape = self._by_text.get(text)
        if shape is None:
            if len(self._by_text) >= INTERNED_MAX:
                # Both maps refer to the same shapes, so they are cleared together.
                self._by_text.clear()
                self._by_key.clear()
            shape = _read(spec)
            # Different texts may describe equal shapes. One instance for both keeps comparisons and
            # memory small.
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
    pod_terms = read_pod_affinity_terms(spec, problems)
    preferred = _preferred_terms(spec, problems)
    constraints_key = _encoder.encode(constraints)
    amounts = tuple(sorted(request.items()))
    problem = str(problems)
    return Shape(
        # A pod with a problem must not share the masks and capacities of valid pods.
        key=_encoder.encode((amounts, problem, pod_terms, preferred)) + constraints_key,
        request=amounts,
        constraints=constraints,
        constraints_key=constraints_key,
        preferred=preferred,
        pod_terms=pod_terms,
        problem=problem,
        images=_images(spec),
    )


def broken_shape(shape: Shape, problem: str) -> Shape:
    """The same requests, for a pod that cannot be placed."""
    return msgspec.structs.replace(
        shape, key=shape.key + problem.encode(errors="replace"), problem=problem
    )


def _image_names(spec: PodSpec) -> tuple[str, ...]:
    return tuple(c.image for listed in (spec.init_containers, spec.containers) for c in listed)


def _images(spec: PodSpec) -> tuple[str, ...]:
    """Sorted, because it does not matter which container runs which image."""
    names = _image_names(spec)
    return tuple(sorted(map(image_id, names))) if any(names) else ()


def _required_terms(spec: PodSpec, problems: Problems) -> tuple[NodeTerm, ...] | None:
    """The alternatives of the required node affinity. Unreadable terms are reported as a problem."""
    affinity = part_of(spec, "nodeAffinity", problems)
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return node_terms(required, problems) if required else None


def node_terms(selector: Any, problems: Problems) -> tuple[NodeTerm, ...]:
    """The alternatives of a node selector. Unreadable terms are reported as a problem."""
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
    """A parsed term; None for an empty term, which matches no node."""
    labels = _requirements(written.get("matchExpressions"))
    fields = _requirements(written.get("matchFields"))
    if any(need.key != _NAME_FIELD for need in fields):
        problems.add("node affinity: matchFields knows only metadata.name")
    return NodeTerm(labels=labels, fields=fields) if labels or fields else None


def _preferred_terms(spec: PodSpec, problems: Problems) -> tuple[tuple[int, NodeTerm], ...]:
    affinity = part_of(spec, "nodeAffinity", problems)
    found: list[tuple[int, NodeTerm]] = []
    try:
        for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            term = _node_term(weighted.get("preference") or {}, problems)
            weight = _weight(weighted)
            if term is not None and weight:
                found.append((weight, term))
    except Exception as error:  # noqa: BLE001 - free in its form
        problems.add(f"node affinity: {describe(error)}")
    return tuple(found)


def _weight(weighted: Any) -> int:
    """The weight of a preferred term; 0 if it is not a number."""
    return max(0, min(read_integer(weighted.get("weight")) or 0, WEIGHT_MAX))


def _requirements(written: Any) -> tuple[LabelSelectorRequirement, ...]:
    listed = msgspec.convert(written or [], list[LabelSelectorRequirement])
    for need in listed:
        # Affinity is free-form JSON in the fact, so operators were not checked before.
        if need.operator not in _OPERATORS:
            raise TypeError(f"operator {need.operator!r} is not one of {', '.join(_OPERATORS)}")
    return tuple(listed)


_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")

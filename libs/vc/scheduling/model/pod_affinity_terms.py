"""Everything in a pod spec that concerns other pods.

That is pod affinity and anti-affinity, topology spread, host ports and shared claims.

Required terms become predicates, preferred terms become scores. A `PodAffinityTerm` is kept as
written, so that equal pods of different namespaces share a shape; `resolve` evaluates it for one
pod. A `Selection` (which pods) is separate from the topology key (which nodes form a domain), so
that one count per node serves every topology key.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from vc.model.api.pod import PodSpec, TopologySpreadConstraint
from vc.model.api.selectors import (
    LabelSelector,
    LabelSelectorRequirement,
    requirement_matches,
    selector_matches,
)
from vc.model.faults import describe
from vc.model.values.bounded import read_integer, shown
from vc.scheduling.model.amounts import Problems

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
WEIGHT_MAX: Final = 100
"""The maximum weight of a preferred term, as in the API."""
REQUIRED_WEIGHT: Final = 1
"""The weight of the required affinity of a placed pod, when nodes are scored for other pods
(kube-scheduler's default)."""
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")

Port = tuple[str, int]
"""(protocol, host port)"""
Namespaces = Mapping[str, Mapping[str, str]]
"""Name to labels."""


class Selection(msgspec.Struct, frozen=True, eq=False):
    """The pods that a term selects. Selections are compared by `key`."""

    key: bytes
    namespaces: tuple[str, ...]
    """Empty for all namespaces."""
    labels: tuple[tuple[str, str], ...]
    needs: tuple[LabelSelectorRequirement, ...]
    nothing: bool
    """Whether it selects no pod, as a term without a selector does."""

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.nothing or (self.namespaces and namespace not in self.namespaces):
            return False
        return all(labels.get(name) == value for name, value in self.labels) and all(
            requirement_matches(need, labels) for need in self.needs
        )


class PodAffinityTerm(msgspec.Struct, frozen=True):
    """A selector of pods, and the topology domain within which they count."""

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...] = ()
    """Empty for the namespace of the pod."""
    everywhere: bool = False
    namespace_selector: LabelSelector | None = None
    """Selects namespaces in addition to the named ones."""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class Spread(msgspec.Struct, frozen=True):
    """No domain may have more than `max_skew` pods above the domain with the fewest."""

    term: PodAffinityTerm
    max_skew: int
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


class WeightedTerm(msgspec.Struct, frozen=True):
    """A preferred term. The weight of an anti-affinity term is negative."""

    weight: int
    term: PodAffinityTerm


class ClaimName(msgspec.Struct, frozen=True):
    """A claim in the namespace of the pod."""

    name: str
    ephemeral: bool = False
    """Whether the claim is created with the pod. Its name is then prefixed with that of the pod."""


class PodAffinityTerms(msgspec.Struct, frozen=True):
    """All terms of a pod that concern other pods."""

    affinity: tuple[PodAffinityTerm, ...] = ()
    anti: tuple[PodAffinityTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    ports: tuple[Port, ...] = ()
    preferred: tuple[WeightedTerm, ...] = ()
    soft_spread: tuple[Spread, ...] = ()
    """Spread constraints with ScheduleAnyway."""
    claims: tuple[ClaimName, ...] = ()

    @property
    def terms(self) -> tuple[PodAffinityTerm, ...]:
        return (
            *self.affinity,
            *self.anti,
            *(spread.term for spread in (*self.spread, *self.soft_spread)),
            *(weighted.term for weighted in self.preferred),
        )

    @property
    def pulls(self) -> tuple[WeightedTerm, ...]:
        """The terms of a placed pod that affect the scores of nodes for other pods."""
        return (*self.preferred, *(WeightedTerm(REQUIRED_WEIGHT, term) for term in self.affinity))


NO_POD_TERMS: Final = PodAffinityTerms()


def resolve(
    term: PodAffinityTerm, namespace: str, labels: Mapping[str, str], *, known: Namespaces
) -> Selection:
    """The pods that a term selects, for a pod with this namespace and these labels."""
    written = term.selector or LabelSelector()
    equal = dict(written.match_labels)
    equal.update({key: labels[key] for key in term.match_label_keys if key in labels})
    needs = (
        *written.match_expressions,
        *(
            LabelSelectorRequirement(key=key, operator="NotIn", values=[labels[key]])
            for key in term.mismatch_label_keys
            if key in labels
        ),
    )
    namespaces = _namespaces(term, namespace, known)
    # Sorted, so that equal selections have equal keys.
    pairs = tuple(sorted(equal.items()))
    # A namespace selector that matches no namespace selects nothing, whereas no namespaces mean all.
    nothing = term.selector is None or (not namespaces and not term.everywhere)
    return Selection(
        _encoder.encode((namespaces, pairs, needs, nothing)), namespaces, pairs, needs, nothing
    )


def _namespaces(term: PodAffinityTerm, namespace: str, known: Namespaces) -> tuple[str, ...]:
    """The namespaces of a term; empty for all, or for none."""
    if term.everywhere:
        return ()
    if term.namespace_selector is None:
        return term.namespaces or (namespace,)
    picked = [n for n, labels in known.items() if selector_matches(term.namespace_selector, labels)]
    return tuple(sorted({*term.namespaces, *picked}))


def read_pod_affinity_terms(spec: PodSpec, problems: Problems) -> PodAffinityTerms:
    """Parse the spec. Unreadable parts are reported as a problem of the pod."""
    affinity = spec.affinity or {}
    ports, claims = host_ports(spec), claim_names(spec)
    # Most pods have none of these. The shared value makes the comparison with NO_POD_TERMS cheap.
    if not (affinity or spec.topology_spread_constraints or ports or claims):
        return NO_POD_TERMS
    near = part_of(spec, "podAffinity", problems)
    far = part_of(spec, "podAntiAffinity", problems)
    hard = [c.when_unsatisfiable == _DO_NOT_SCHEDULE for c in spec.topology_spread_constraints]
    spread = list(zip(hard, spec.topology_spread_constraints, strict=True))
    try:
        return PodAffinityTerms(
            affinity=_terms(near),
            anti=_terms(far),
            spread=tuple(_spread(constraint) for is_hard, constraint in spread if is_hard),
            ports=ports,
            preferred=(*_weighted_terms(near, sign=1), *_weighted_terms(far, sign=-1)),
            soft_spread=tuple(_spread(constraint) for is_hard, constraint in spread if not is_hard),
            claims=claims,
        )
    except Exception as error:  # noqa: BLE001 - free in its form
        problems.add(f"pod affinity: {describe(error)}")
        return NO_POD_TERMS


def part_of(spec: PodSpec, name: str, problems: Problems) -> dict[str, Any]:
    """A part of the affinity. A part that is not an object is reported as a problem of the pod."""
    part = (spec.affinity or {}).get(name)
    if part is None or isinstance(part, dict):
        return part or {}
    problems.add(f"affinity.{name} must be an object, not {shown(part)}")
    return {}


def host_ports(spec: PodSpec) -> tuple[Port, ...]:
    """The host ports of the pod. With hostNetwork, every container port is one."""
    found = [
        (port.protocol, port.host_port or (port.container_port if spec.host_network else 0))
        for container in spec.containers
        for port in container.ports
    ]
    # Sorted and without duplicates, so that equal pods have equal shapes.
    return tuple(sorted({port for port in found if port[1]}))


def claim_names(spec: PodSpec) -> tuple[ClaimName, ...]:
    """The claims of its volumes, without duplicates."""
    if not spec.volumes:
        return ()
    found = [
        ClaimName(volume.persistent_volume_claim.claim_name)
        for volume in spec.volumes
        if volume.persistent_volume_claim is not None
    ]
    made = [
        ClaimName(volume.name, ephemeral=True)
        for volume in spec.volumes
        if volume.ephemeral is not None
    ]
    return tuple(dict.fromkeys([*found, *made]))


def written_pod_affinity(affinity: Any) -> Any:
    """The raw parts that `read_pod_affinity_terms` parses, for use as a key."""
    if not affinity:
        return None
    return [affinity.get(kind) for kind in ("podAffinity", "podAntiAffinity")]


def _terms(written: Any) -> tuple[PodAffinityTerm, ...]:
    return tuple(_term(term) for term in (written or {}).get(_REQUIRED) or [])


def _weighted_terms(written: Any, *, sign: int) -> tuple[WeightedTerm, ...]:
    listed = (written or {}).get(_PREFERRED) or []
    return tuple(
        WeightedTerm(
            sign * max(0, min(read_integer(weighted.get("weight")) or 0, WEIGHT_MAX)),
            _term(weighted["podAffinityTerm"]),
        )
        for weighted in listed
        if weighted.get("podAffinityTerm")
    )


def _term(written: Any) -> PodAffinityTerm:
    if not written.get("topologyKey"):
        raise TypeError("a term needs a topologyKey")
    selector = msgspec.convert(written.get("labelSelector"), LabelSelector | None)
    namespaces = msgspec.convert(written.get("namespaceSelector"), LabelSelector | None)
    _check(selector)
    _check(namespaces)
    # An empty selector matches all namespaces, including those created later.
    everywhere = namespaces is not None and namespaces == LabelSelector()
    return PodAffinityTerm(
        topology_key=msgspec.convert(written["topologyKey"], str),
        selector=selector,
        namespaces=tuple(sorted(msgspec.convert(written.get("namespaces") or [], list[str]))),
        everywhere=everywhere,
        namespace_selector=None if everywhere else namespaces,
        match_label_keys=_strings(written.get("matchLabelKeys")),
        mismatch_label_keys=_strings(written.get("mismatchLabelKeys")),
    )


def _spread(constraint: TopologySpreadConstraint) -> Spread:
    _check(constraint.label_selector)
    return Spread(
        term=PodAffinityTerm(
            topology_key=constraint.topology_key,
            selector=constraint.label_selector,
            match_label_keys=tuple(constraint.match_label_keys),
        ),
        max_skew=max(1, constraint.max_skew),
        min_domains=constraint.min_domains or 1,
        honor_affinity=constraint.node_affinity_policy != "Ignore",
        honor_taints=constraint.node_taints_policy == "Honor",
    )


def _check(selector: LabelSelector | None) -> None:
    for need in selector.match_expressions if selector else ():
        if need.operator not in _OPERATORS:
            raise TypeError(f"operator {need.operator!r} is not one of {', '.join(_OPERATORS)}")


def _strings(written: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(msgspec.convert(list(written or []), list[str]))

"""What a pod says about other pods: affinity, anti-affinity, spread, host ports, claims they share.

What is required becomes checks, what is preferred becomes scores. A `PeerTerm` is as written, so that
equal pods of different namespaces share a shape; `resolve` reads it for one pod. A `Selection` (which
pods) is apart from the topology key (which nodes count as together), so that one count per node
serves every key.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from vc_model.bounded import read_integer, shown
from vc_model.faults import describe
from vc_model.pod import PodSpec, TopologySpreadConstraint
from vc_model.selectors import (
    LabelSelector,
    LabelSelectorRequirement,
    requirement_matches,
    selector_matches,
)
from vc_scheduler.logic.amounts import Problems

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
WEIGHT_MAX: Final = 100
"""Of a preferred term; more is not allowed by the API."""
REQUIRED_WEIGHT: Final = 1
"""Of a placed pod's required affinity, when it is scored for pods that come (kube-scheduler's default)."""
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_encoder: Final = msgspec.msgpack.Encoder(order="deterministic")

Port = tuple[str, int]
"""(protocol, host port)"""
Namespaces = Mapping[str, Mapping[str, str]]
"""Name to labels."""


class Selection(msgspec.Struct, frozen=True, eq=False):
    """Which pods a term speaks of. Compared by `key`."""

    key: bytes
    namespaces: tuple[str, ...]
    """Empty for all."""
    labels: tuple[tuple[str, str], ...]
    needs: tuple[LabelSelectorRequirement, ...]
    nothing: bool
    """A term without a selector matches no pod."""

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.nothing or (self.namespaces and namespace not in self.namespaces):
            return False
        return all(labels.get(name) == value for name, value in self.labels) and all(
            requirement_matches(need, labels) for need in self.needs
        )


class PeerTerm(msgspec.Struct, frozen=True):
    """Pods of a selector, and the topology within which they count as near."""

    topology_key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...] = ()
    """Empty for the pod's own."""
    everywhere: bool = False
    namespace_selector: LabelSelector | None = None
    """Namespaces beside those that are named."""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class Spread(msgspec.Struct, frozen=True):
    """No domain may have more than `max_skew` pods above the emptiest."""

    term: PeerTerm
    max_skew: int
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


class Wish(msgspec.Struct, frozen=True):
    """A preferred term; the weight of one that keeps away is negative."""

    weight: int
    term: PeerTerm


class ClaimName(msgspec.Struct, frozen=True):
    """A claim of the pod's namespace."""

    name: str
    ephemeral: bool = False
    """The claim is made with the pod and has its name before this one."""


class Peering(msgspec.Struct, frozen=True):
    """Everything a pod says about others."""

    affinity: tuple[PeerTerm, ...] = ()
    anti: tuple[PeerTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    ports: tuple[Port, ...] = ()
    wishes: tuple[Wish, ...] = ()
    soft_spread: tuple[Spread, ...] = ()
    """Spread constraints with ScheduleAnyway."""
    claims: tuple[ClaimName, ...] = ()

    @property
    def terms(self) -> tuple[PeerTerm, ...]:
        return (
            *self.affinity,
            *self.anti,
            *(spread.term for spread in (*self.spread, *self.soft_spread)),
            *(wish.term for wish in self.wishes),
        )

    @property
    def pulls(self) -> tuple[Wish, ...]:
        """What it means, once it is placed, for the scores of pods that come."""
        return (*self.wishes, *(Wish(REQUIRED_WEIGHT, term) for term in self.affinity))


NO_PEERING: Final = Peering()


def resolve(
    term: PeerTerm, namespace: str, labels: Mapping[str, str], *, known: Namespaces
) -> Selection:
    """The pods a term speaks of, for a pod of this namespace with these labels."""
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
    pairs = tuple(sorted(equal.items()))
    nothing = term.selector is None or (not namespaces and not term.everywhere)
    return Selection(
        _encoder.encode((namespaces, pairs, needs, nothing)), namespaces, pairs, needs, nothing
    )


def _namespaces(term: PeerTerm, namespace: str, known: Namespaces) -> tuple[str, ...]:
    """Where a term looks; empty for everywhere, or for nowhere."""
    if term.everywhere:
        return ()
    if term.namespace_selector is None:
        return term.namespaces or (namespace,)
    picked = [n for n, labels in known.items() if selector_matches(term.namespace_selector, labels)]
    return tuple(sorted({*term.namespaces, *picked}))


def read_peering(spec: PodSpec, problems: Problems) -> Peering:
    """Parse; what cannot be read is a problem of the pod."""
    affinity = spec.affinity or {}
    ports, claims = host_ports(spec), claim_names(spec)
    if not (affinity or spec.topology_spread_constraints or ports or claims):
        return NO_PEERING
    near = part_of(spec, "podAffinity", problems)
    far = part_of(spec, "podAntiAffinity", problems)
    hard = [c.when_unsatisfiable == _DO_NOT_SCHEDULE for c in spec.topology_spread_constraints]
    spread = list(zip(hard, spec.topology_spread_constraints, strict=True))
    try:
        return Peering(
            affinity=_terms(near),
            anti=_terms(far),
            spread=tuple(_spread(constraint) for is_hard, constraint in spread if is_hard),
            ports=ports,
            wishes=(*_wishes(near, sign=1), *_wishes(far, sign=-1)),
            soft_spread=tuple(_spread(constraint) for is_hard, constraint in spread if not is_hard),
            claims=claims,
        )
    except Exception as error:  # noqa: BLE001 - free in its form
        problems.add(f"pod affinity: {describe(error)}")
        return NO_PEERING


def part_of(spec: PodSpec, name: str, problems: Problems) -> dict[str, Any]:
    """A part of the affinity; one that is no object is a problem of the pod."""
    part = (spec.affinity or {}).get(name)
    if part is None or isinstance(part, dict):
        return part or {}
    problems.add(f"affinity.{name} must be an object, not {shown(part)}")
    return {}


def host_ports(spec: PodSpec) -> tuple[Port, ...]:
    """Ports of the node that the pod takes; with the host's network every port is one."""
    found = [
        (port.protocol, port.host_port or (port.container_port if spec.host_network else 0))
        for container in spec.containers
        for port in container.ports
    ]
    return tuple(sorted({port for port in found if port[1]}))


def claim_names(spec: PodSpec) -> tuple[ClaimName, ...]:
    """The claims its volumes name, once each."""
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


def written_peers(affinity: Any) -> Any:
    """The raw parts that `read_peering` looks at, as a key."""
    if not affinity:
        return None
    return [affinity.get(kind) for kind in ("podAffinity", "podAntiAffinity")]


def _terms(written: Any) -> tuple[PeerTerm, ...]:
    return tuple(_term(term) for term in (written or {}).get(_REQUIRED) or [])


def _wishes(written: Any, *, sign: int) -> tuple[Wish, ...]:
    listed = (written or {}).get(_PREFERRED) or []
    return tuple(
        Wish(
            sign * max(0, min(read_integer(wish.get("weight")) or 0, WEIGHT_MAX)),
            _term(wish["podAffinityTerm"]),
        )
        for wish in listed
        if wish.get("podAffinityTerm")
    )


def _term(written: Any) -> PeerTerm:
    if not written.get("topologyKey"):
        raise TypeError("a term needs a topologyKey")
    selector = msgspec.convert(written.get("labelSelector"), LabelSelector | None)
    namespaces = msgspec.convert(written.get("namespaceSelector"), LabelSelector | None)
    _check(selector)
    _check(namespaces)
    everywhere = namespaces is not None and namespaces == LabelSelector()
    return PeerTerm(
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
        term=PeerTerm(
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

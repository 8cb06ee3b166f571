"""The outline of a pod template: the fields that services decide on, without private content.

Environment values, commands, arguments, probes, hooks, mounts, the content of volumes and unknown
fields may contain passwords. None of them matters for decisions before the pods are created, so a
job on the bus has outlines instead of its templates, and the service that creates pods reads the
job itself. An outline has its own key: a release that does not know it finds no pod spec, and does
not create a pod from an incomplete template.

The tables list the fields that are kept, in the notation of `support.pod_fields`: `name=Type` is an
object or a list of them, `name{}` a map of scalars, `name[]` a list of scalars, `name` a scalar.
Other fields are left out, and so are values of another form, because text in place of an object
could be anything.
"""

from typing import Any, Final

from vc.model.api.struct import Json, JsonObject

OUTLINE: Final = "outline"
"""The only key of a template on the bus."""

_TYPES: Final = {
    "Spec": """activeDeadlineSeconds affinity=Affinity containers=Container dnsPolicy hostNetwork hostname
        initContainers=Container nodeName nodeSelector{} overhead{} preemptionPolicy priority priorityClassName
        resourceClaims=Claim resources=Resources restartPolicy schedulerName schedulingGates=Name
        schedulingGroup=Empty securityContext=PodSecurity subdomain
        terminationGracePeriodSeconds tolerations=Toleration topologySpreadConstraints=Spread volumes=Volume
        workloadRef=Empty""",
    "Container": "env=Name image name ports=Port resources=Resources restartPolicy",
    "Resources": "limits{} requests{}",
    "Name": "name",
    "Empty": "",
    "Port": "containerPort hostIP hostPort name protocol",
    "PodSecurity": "fsGroup runAsGroup runAsUser",
    "Claim": "name resourceClaimName resourceClaimTemplateName",
    "Toleration": "effect key operator tolerationSeconds value",
    "Spread": """labelSelector=Selector matchLabelKeys[] maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy
        topologyKey whenUnsatisfiable""",
    "Selector": "matchExpressions=Requirement matchLabels{}",
    "Requirement": "key operator values[]",
    "Affinity": "nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAffinity",
    "NodeAffinity": """preferredDuringSchedulingIgnoredDuringExecution=PreferredNodes
        requiredDuringSchedulingIgnoredDuringExecution=RequiredNodes""",
    "PreferredNodes": "preference=NodeTerm weight",
    "RequiredNodes": "nodeSelectorTerms=NodeTerm",
    "NodeTerm": "matchExpressions=Requirement matchFields=Requirement",
    "PodAffinity": """preferredDuringSchedulingIgnoredDuringExecution=PreferredPods
        requiredDuringSchedulingIgnoredDuringExecution=PodTerm""",
    "PreferredPods": "podAffinityTerm=PodTerm weight",
    "PodTerm": """labelSelector=Selector matchLabelKeys[] mismatchLabelKeys[] namespaceSelector=Selector namespaces[]
        topologyKey""",
    "Volume": "ephemeral=Empty name persistentVolumeClaim=ClaimRef",
    "ClaimRef": "claimName readOnly",
}

_MAP: Final = "{}"
_LIST: Final = "[]"
_SCALAR: Final = ""


def _read(text: str) -> tuple[str, str]:
    """A field and its form: a type, a map, a list or a scalar."""
    for form in (_MAP, _LIST):
        if text.endswith(form):
            return text.removesuffix(form), form
    name, _, kind = text.partition("=")
    return name, kind


KEPT: Final = {kind: tuple(map(_read, line.split())) for kind, line in _TYPES.items()}
"""The kept fields of each type, with their forms."""

_ABSENT: Final = object()


def outline(template: JsonObject, *, annotations: JsonObject) -> JsonObject:
    """The published form of a template;
    `annotations` are the template's annotations that may be published.
    """
    kept: JsonObject = {}
    spec = _object(template.get("spec"), "Spec")
    if spec is not _ABSENT:
        kept["spec"] = spec
    metadata = template.get("metadata")
    labels = _map(metadata.get("labels")) if isinstance(metadata, dict) else _ABSENT
    shown = {
        **({"labels": labels} if isinstance(labels, dict) and labels else {}),
        **({"annotations": annotations} if annotations else {}),
    }
    if shown:
        kept["metadata"] = shown
    return {OUTLINE: kept}


def shown_template(template: JsonObject) -> JsonObject:
    """An outline in the form of a template; a template is returned unchanged."""
    # A real template wins: a user may have a field named `outline`.
    shown = template if "spec" in template else template.get(OUTLINE, template)
    return shown if isinstance(shown, dict) else {}


def pod_spec_of(template: JsonObject) -> JsonObject:
    """The known parts of the pod spec, from a template or its outline."""
    spec = shown_template(template).get("spec")
    return spec if isinstance(spec, dict) else {}


def _kept(value: Json, form: str) -> Any:
    """The kept part of a field; `_ABSENT` if nothing is kept."""
    if form == _MAP:
        return _map(value)
    if form == _LIST:
        return [x for x in value if _is_scalar(x)] if isinstance(value, list) else _ABSENT
    if form == _SCALAR:
        return value if _is_scalar(value) else _ABSENT
    if isinstance(value, list):
        return [kept for member in value if (kept := _object(member, form)) is not _ABSENT]
    return _object(value, form)


def _object(value: Json, kind: str) -> Any:
    if not isinstance(value, dict):
        return _ABSENT
    # The table is iterated and not the value: a field that is not listed cannot pass.
    found = ((name, _kept(value[name], form)) for name, form in KEPT[kind] if name in value)
    return {name: kept for name, kept in found if kept is not _ABSENT}


def _map(value: Json) -> Any:
    if not isinstance(value, dict):
        return _ABSENT
    return {key: each for key, each in value.items() if _is_scalar(each)}


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, dict | list)

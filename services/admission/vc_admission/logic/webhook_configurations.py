"""Our webhook configurations as manifests: what the chart installs and embedded mode creates.

Pods are asked about only when they name our scheduler, and are let through when we are away: nobody's
pod may fail because of us. Jobs, queues and the other kinds of ours are refused while we are away,
because a job without its defaults would be wrong for good. No namespace is excluded.
"""

import base64
from typing import Final

from vc_admission.logic.endpoints import ENDPOINTS, Endpoint
from vc_model import kinds
from vc_model.keys import JDB_MAX_UNAVAILABLE, JDB_MIN_AVAILABLE
from vc_model.kinds import Kind
from vc_model.meta import ApiObject
from vc_model.struct import JsonObject

API_VERSION: Final = "admissionregistration.k8s.io/v1"
TIMEOUT_SECONDS: Final = 10
SERVICE_PORT: Final = 443

MUTATING: Final = Kind(
    short="mutatingwebhookconfigurations",
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    namespaced=False,
    type=ApiObject,
)
VALIDATING: Final = Kind(
    short="validatingwebhookconfigurations",
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    namespaced=False,
    type=ApiObject,
)
CONFIGURATIONS: Final = (MUTATING, VALIDATING)

_BUDGET_CONDITION: Final = {
    "name": "has-a-disruption-budget",
    "expression": "has(object.metadata.annotations) && "
    f"('{JDB_MIN_AVAILABLE}' in object.metadata.annotations || "
    f"'{JDB_MAX_UNAVAILABLE}' in object.metadata.annotations)",
}
"""Budgets are all that is validated of a pod; the API server asks once less about every other one."""


def client_url(base_url: str, endpoint: Endpoint) -> JsonObject:
    """A webhook reached by its address: embedded mode."""
    return {"url": f"{base_url}{endpoint.path}"}


def client_service(name: str, namespace: str, endpoint: Endpoint) -> JsonObject:
    """A webhook reached through its Service: on a cluster."""
    service = {"name": name, "namespace": namespace, "path": endpoint.path, "port": SERVICE_PORT}
    return {"service": service}


def configuration(
    kind: Kind, *, name: str, clients: dict[str, JsonObject], scheduler_names: tuple[str, ...]
) -> JsonObject:
    """One configuration with all webhooks of its kind; `clients` by path."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind.kind,
        "metadata": {"name": name, "labels": {"app.kubernetes.io/part-of": "pyroclast"}},
        "webhooks": [
            _webhook(endpoint, clients[endpoint.path], scheduler_names)
            for endpoint in ENDPOINTS
            if endpoint.mutates is (kind is MUTATING)
        ],
    }


def _webhook(
    endpoint: Endpoint, client: JsonObject, scheduler_names: tuple[str, ...]
) -> JsonObject:
    kind, is_pods = endpoint.kind, endpoint.kind is kinds.PODS
    webhook: JsonObject = {
        "name": endpoint.webhook,
        "clientConfig": client,
        "rules": [
            {
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "operations": list(endpoint.operations),
                "resources": [kind.plural],
                "scope": "Namespaced" if kind.namespaced else "Cluster",
            }
        ],
        "failurePolicy": "Ignore" if is_pods else "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    if is_pods:
        conditions = [pod_condition(scheduler_names)]
        webhook["matchConditions"] = conditions + ([] if endpoint.mutates else [_BUDGET_CONDITION])
    return webhook


def pod_condition(scheduler_names: tuple[str, ...]) -> JsonObject:
    """Only pods that name our scheduler."""
    listed = ", ".join(f"'{name}'" for name in scheduler_names)
    expression = f"has(object.spec.schedulerName) && object.spec.schedulerName in [{listed}]"
    return {"name": "names-our-scheduler", "expression": expression}


def with_ca_bundle(found: JsonObject, ca_pem: bytes) -> list[JsonObject] | None:
    """The configuration's webhooks with our authority; None when they have it already."""
    bundle = base64.b64encode(ca_pem).decode()
    webhooks: list[JsonObject] = found.get("webhooks") or []
    if all(w.get("clientConfig", {}).get("caBundle") == bundle for w in webhooks):
        return None
    return [
        {**webhook, "clientConfig": {**webhook.get("clientConfig", {}), "caBundle": bundle}}
        for webhook in webhooks
    ]

"""Our webhook configurations as manifests: the chart installs them, or embedded mode creates them.

Pods are sent only if they name our scheduler and admission has an answer (`pod_conditions.py`).
They are admitted while admission is unavailable, so that no pod fails because of it. Jobs, queues
and our other kinds are refused during that time, because a job without its defaults would stay
wrong. No namespace is excluded.

A configuration names a Service (the chart's) or an address (created by a process). The
second form belongs to its process. `is_by_address` distinguishes them, so that no process
changes or deletes what a chart owns.
"""

import base64
from typing import Final

from vc.admission.logic.webhook.endpoints import ENDPOINTS, Endpoint
from vc.admission.logic.webhook.pod_conditions import (
    ANSWER_CONDITION,
    others_condition,
    scheduler_condition,
)
from vc.model.api import kinds
from vc.model.api.kinds import Kind
from vc.model.api.meta import ApiObject
from vc.model.api.struct import JsonObject

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
PART_OF: Final = {"app.kubernetes.io/part-of": "pyroclast"}
BY_ADDRESS: Final = {"pyroclast.io/registered-by": "address"}
"""Label of configurations that a process created, for `kubectl delete -l`."""
(_MUTATE_PODS,) = [e for e in ENDPOINTS if e.mutates and e.kind is kinds.PODS]


def client_url(base_url: str, endpoint: Endpoint) -> JsonObject:
    """Client of a webhook with an address, in embedded mode."""
    return {"url": f"{base_url}{endpoint.path}"}


def client_service(name: str, namespace: str, endpoint: Endpoint) -> JsonObject:
    """Client of a webhook with a Service, on a cluster."""
    service = {"name": name, "namespace": namespace, "path": endpoint.path, "port": SERVICE_PORT}
    return {"service": service}


def configuration(
    kind: Kind,
    *,
    name: str,
    clients: dict[str, JsonObject],
    scheduler_names: tuple[str, ...],
    steering: JsonObject | None = None,
    failure_policy: str = "Fail",
    accounts: tuple[str, ...] = (),
) -> JsonObject:
    """One configuration with all webhooks of its kind. `clients` are by path."""
    chosen = [endpoint for endpoint in ENDPOINTS if endpoint.mutates is (kind is MUTATING)]
    webhooks = [
        _webhook(endpoint, clients[endpoint.path], scheduler_names, steering) for endpoint in chosen
    ]
    for endpoint, webhook in zip(chosen, webhooks, strict=True):
        if endpoint.kind is kinds.PODGROUPS:
            webhook["matchConditions"] = [others_condition(accounts)]
    # Pods have Ignore already; with Ignore for all, no webhook blocks writes.
    if failure_policy == "Ignore":
        webhooks = [{**webhook, "failurePolicy": failure_policy} for webhook in webhooks]
    return {
        "apiVersion": API_VERSION,
        "kind": kind.kind,
        "metadata": {"name": name, "labels": dict(PART_OF)},
        "webhooks": webhooks,
    }


def is_by_address(found: JsonObject, *, url: str = "") -> bool:
    """Whether a process of ours created it, and no chart. With `url`, only that address counts."""
    # Our label excludes configurations of other products.
    if not PART_OF.items() <= (found["metadata"].get("labels") or {}).items():
        return False
    urls = [
        str((webhook.get("clientConfig") or {}).get("url") or "")
        for webhook in found.get("webhooks") or []
    ]
    return bool(urls) and all(each.startswith(f"{url}/" if url else "https://") for each in urls)


def _webhook(
    endpoint: Endpoint,
    client: JsonObject,
    scheduler_names: tuple[str, ...],
    steering: JsonObject | None,
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
        # A pod must never fail because admission is unavailable.
        "failurePolicy": "Ignore" if is_pods else "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
    if is_pods:
        webhook["matchConditions"] = pod_conditions(endpoint, scheduler_names, steering)
    return webhook


def pod_conditions(
    endpoint: Endpoint, scheduler_names: tuple[str, ...], steering: JsonObject | None
) -> list[JsonObject]:
    """When the API server sends a pod. Without `steering`, all pods of our scheduler are sent."""
    ours = scheduler_condition(scheduler_names)
    if not endpoint.mutates:
        return [ours, ANSWER_CONDITION]
    return [ours, steering] if steering is not None else [ours]


def kept(
    found: JsonObject, *, ca_pem: bytes, steering: JsonObject | None
) -> list[JsonObject] | None:
    """The webhooks of a configuration with our authority and our condition on pods.

    None if they have both already. Other settings of an administrator are kept. Without `steering`
    (our configuration is not known yet) the conditions are kept too.
    """
    webhooks: list[JsonObject] = found.get("webhooks") or []
    wanted = [_with_steering(_with_ca(webhook, ca_pem), steering) for webhook in webhooks]
    return None if wanted == webhooks else wanted


def _with_ca(webhook: JsonObject, ca_pem: bytes) -> JsonObject:
    bundle = base64.b64encode(ca_pem).decode()
    return {**webhook, "clientConfig": {**webhook.get("clientConfig", {}), "caBundle": bundle}}


def _with_steering(webhook: JsonObject, steering: JsonObject | None) -> JsonObject:
    if steering is None or webhook.get("name") != _MUTATE_PODS.webhook:
        return webhook
    # Conditions of an administrator are kept; only ours is replaced.
    others = [c for c in webhook.get("matchConditions") or [] if c.get("name") != steering["name"]]
    return {**webhook, "matchConditions": [*others, steering]}

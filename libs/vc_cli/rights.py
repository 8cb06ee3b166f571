"""What each service may do on a cluster, as the Helm chart grants it.

The chart's `services.yaml` is the only place where rights are written. Here it becomes the objects
that Helm makes of it, for a stack on a real API server: whoever runs a service there, tests included,
finds out at once when a right is missing.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from vc_model.keys import SYSTEM_NAMESPACE
from vc_model.struct import JsonObject

RELEASE: Final = "volcano"
_PLACEHOLDER: Final = "RELEASE"
_RBAC: Final = "rbac.authorization.k8s.io"


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """RBAC rules of one service."""

    rules: list[JsonObject]
    """Everywhere."""
    own_rules: list[JsonObject]
    """In our own namespace."""
    identity_rules: list[JsonObject] = []
    """To know which cluster it is."""


def account_of(service: str) -> str:
    """The name of its ServiceAccount, of its roles and of their bindings."""
    return f"{RELEASE}-{service}"


def account_users(*, namespace: str = SYSTEM_NAMESPACE) -> tuple[str, ...]:
    """The user names of all our services, as the API server calls their accounts."""
    return tuple(user_of(service, namespace=namespace) for service in sorted(service_facts()))


def user_of(service: str, *, namespace: str = SYSTEM_NAMESPACE) -> str:
    """What the API server calls a service's account."""
    return f"system:serviceaccount:{namespace}:{account_of(service)}"


@cache
def service_facts() -> dict[str, dict[str, Any]]:
    """The chart's table, service by service."""
    text = _file().read_text(encoding="utf-8").replace(_PLACEHOLDER, RELEASE)
    return {service: facts or {} for service, facts in yaml.safe_load(text).items()}


def _file() -> Path:
    """Beside the code in a wheel, in `deploy/` in a checkout."""
    installed = Path(__file__).parent / "service_rights.yaml"
    checkout = Path(__file__).parents[2] / "deploy" / "helm" / "pyroclast" / "services.yaml"
    return installed if installed.is_file() else checkout


def rights_of(service: str) -> Rights:
    """Its rules; a service that is not in the chart has none."""
    facts = service_facts().get(service, {})
    return Rights(
        rules=facts.get("rules", []),
        own_rules=facts.get("ownRules", []),
        identity_rules=facts.get("identityRules", []),
    )


def account_manifests(service: str, *, namespace: str = SYSTEM_NAMESPACE) -> list[JsonObject]:
    """The account and its roles with their bindings, in the order they can be made."""
    name, rights = account_of(service), rights_of(service)
    account: JsonObject = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    }
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    made = [account]
    if rights.identity_rules:
        made += _role("ClusterRole", {"name": f"{name}-identity"}, rights.identity_rules, subject)
    if rights.rules:
        made += _role("ClusterRole", {"name": name}, rights.rules, subject)
    if rights.own_rules:
        made += _role("Role", {"name": name, "namespace": namespace}, rights.own_rules, subject)
    return made


def _role(
    kind: str, metadata: JsonObject, rules: list[JsonObject], subject: JsonObject
) -> list[JsonObject]:
    version = f"{_RBAC}/v1"
    reference = {"apiGroup": _RBAC, "kind": kind, "name": metadata["name"]}
    return [
        {"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules},
        {
            "apiVersion": version,
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        },
    ]

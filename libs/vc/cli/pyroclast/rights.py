"""The permissions of each service on a cluster, as the Helm chart grants them.

The chart's `services.yaml` is the only definition of permissions. This module creates the objects
that Helm creates from it, for a stack on a real API server. A missing permission is therefore found
as soon as a service runs there, tests included.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.api.struct import JsonObject

RELEASE: Final = "volcano"
_PLACEHOLDER: Final = "RELEASE"
_RBAC: Final = "rbac.authorization.k8s.io"


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """The RBAC rules of one service."""

    rules: list[JsonObject]
    """Rules for all namespaces and cluster-scoped objects."""
    own_rules: list[JsonObject]
    """Rules for our own namespace."""
    identity_rules: list[JsonObject] = []
    """Rules needed to identify the cluster."""


def account_of(service: str) -> str:
    """The name of the service's ServiceAccount, roles and bindings."""
    return f"{RELEASE}-{service}"


def account_users(*, namespace: str = SYSTEM_NAMESPACE) -> tuple[str, ...]:
    """The user names of all services' accounts, as the API server spells them."""
    return tuple(user_of(service, namespace=namespace) for service in sorted(service_facts()))


def user_of(service: str, *, namespace: str = SYSTEM_NAMESPACE) -> str:
    """The user name of a service's account, as the API server spells it."""
    return f"system:serviceaccount:{namespace}:{account_of(service)}"


@cache
def service_facts() -> dict[str, dict[str, Any]]:
    """The chart's table, by service."""
    # Helm replaces the placeholder with the release's name; here the name is fixed.
    text = _file().read_text(encoding="utf-8").replace(_PLACEHOLDER, RELEASE)
    return {service: facts or {} for service, facts in yaml.safe_load(text).items()}


def _file() -> Path:
    """The file with the table: inside the package in a wheel, in `deploy/` in a checkout."""
    installed = Path(__file__).parent / "service_rights.yaml"
    checkout = Path(__file__).parents[4] / "deploy" / "helm" / "pyroclast" / "services.yaml"
    return installed if installed.is_file() else checkout


def rights_of(service: str) -> Rights:
    """The rules of a service. Empty for a service that the chart does not have."""
    facts = service_facts().get(service, {})
    return Rights(
        rules=facts.get("rules", []),
        own_rules=facts.get("ownRules", []),
        identity_rules=facts.get("identityRules", []),
    )


def account_manifests(service: str, *, namespace: str = SYSTEM_NAMESPACE) -> list[JsonObject]:
    """The account, its roles and their bindings, in the order of creation."""
    name, rights = account_of(service), rights_of(service)
    account: JsonObject = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    }
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    # Bindings refer to the account, so it has to exist first.
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

"""Puts our services on a real API server as the chart does: accounts, rights, webhooks.

Done once, as the cluster's administrator; from then on every service has a kubeconfig with a token of
its own account, and nobody is an administrator. Admission finds its Secret and its webhook
configurations made, as on a cluster, and may only fill them in. The one difference to the chart: the
webhooks name the address of a process instead of a Service.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from vc_admission.config import Config as AdmissionConfig
from vc_admission.logic.endpoints import ENDPOINTS
from vc_admission.logic.webhook_configurations import CONFIGURATIONS, client_url, configuration
from vc_cli.ctl.client import Client
from vc_cli.ctl.errors import ApiError
from vc_cli.ctl.kubeconfig import read_access
from vc_cli.rights import account_manifests, account_of, account_users
from vc_model.keys import SYSTEM_NAMESPACE
from vc_model.struct import JsonObject
from vc_parts.certificates import write_private
from vc_parts.ports import LOOPBACK

TOKEN_SECONDS: Final = 30 * 24 * 3600
"""A stack is for trying; whoever keeps one for longer starts it again."""

_CONFLICT: Final = 409
_PLURALS: Final = {
    "ServiceAccount": "serviceaccounts",
    "Secret": "secrets",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    **{kind.kind: kind.plural for kind in CONFIGURATIONS},
}


def install(
    admin: Path, services: Iterable[str], *, folder: Path, admission_port: int
) -> dict[str, str]:
    """Make what is missing on the cluster of the administrator's kubeconfig.

    Gives the kubeconfig of each service, written into `folder` for its owner only.
    """
    names = list(services)
    client = Client(read_access([admin]))
    for service in names:
        for manifest in account_manifests(service):
            _ensure(client, manifest)
    if "admission" in names:
        for manifest in _admissions_own(admission_port):
            _ensure(client, manifest)
    folder.mkdir(parents=True, exist_ok=True)
    base = yaml.safe_load(admin.read_text())
    return {name: _kubeconfig(client, base, name, folder) for name in names}


def _admissions_own(port: int) -> list[JsonObject]:
    """An empty Secret, and webhooks that lead to the process."""
    config = AdmissionConfig()
    base = f"https://{LOOPBACK}:{port}"
    clients = {endpoint.path: client_url(base, endpoint) for endpoint in ENDPOINTS}
    names = config.settings.scheduler_names
    secret: JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": config.secret_name, "namespace": SYSTEM_NAMESPACE},
        "type": "Opaque",
    }
    webhooks = [
        configuration(
            kind,
            name=config.configuration_name,
            clients=clients,
            scheduler_names=names,
            accounts=account_users(),
        )
        for kind in CONFIGURATIONS
    ]
    return [secret, *webhooks]


def _ensure(client: Client, manifest: JsonObject) -> None:
    group, _, version = manifest["apiVersion"].rpartition("/")
    prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace", "")
    within = f"/namespaces/{namespace}" if namespace else ""
    try:
        client.call("POST", f"{prefix}{within}/{_PLURALS[manifest['kind']]}", body=manifest)
    except ApiError as error:
        if error.code != _CONFLICT:
            raise


def _kubeconfig(client: Client, base: JsonObject, service: str, folder: Path) -> str:
    """The administrator's file with another user: the service's account, by a token of its own."""
    account = account_of(service)
    asked = client.call(
        "POST",
        f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts/{account}/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        },
    )
    context = base["contexts"][0]
    document = {
        **base,
        "users": [{"name": account, "user": {"token": asked["status"]["token"]}}],
        "contexts": [{**context, "context": {**context["context"], "user": account}}],
    }
    path = folder / f"{service}.kubeconfig"
    write_private(path, yaml.safe_dump(document, sort_keys=False).encode())
    return str(path)

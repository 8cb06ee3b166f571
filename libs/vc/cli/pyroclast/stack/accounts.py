"""Installs accounts, permissions and webhooks on a real API server, as the chart does.

This is done once, with the cluster administrator's kubeconfig. After that every service has a
kubeconfig with a token of its own account, and none has administrator permissions. The Secret and
the webhook configurations of admission are created here, as the chart does; admission may only
update them. Unlike in the chart, the webhooks have the address of a process instead of a Service.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from vc.admission.config import Config as AdmissionConfig
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.webhook_configurations import (
    CONFIGURATIONS,
    client_url,
    configuration,
)
from vc.cli.pyroclast.rights import account_manifests, account_of, account_users
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.errors import ApiError
from vc.kubeconfig.access import access_of
from vc.kubeconfig.reader import SelectedContext, read_context
from vc.kubeconfig.writer import write_document
from vc.model.api.keys import SYSTEM_NAMESPACE
from vc.model.api.struct import JsonObject
from vc.parts.ports import LOOPBACK

TOKEN_SECONDS: Final = 30 * 24 * 3600
"""A stack is for short use. One that runs for longer has to be restarted."""

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
    """Create missing objects on the cluster of the administrator's kubeconfig.

    Return the kubeconfig of each service. The files are written to `folder`, readable for the owner
    only.
    """
    names = list(services)
    selected = read_context([admin])
    client = Client(access_of(selected))
    for service in names:
        for manifest in account_manifests(service):
            _ensure(client, manifest)
    # The chart creates these objects; without a chart it has to be done here.
    if "admission" in names:
        for manifest in _admissions_own(admission_port):
            _ensure(client, manifest)
    folder.mkdir(parents=True, exist_ok=True)
    return {name: _write_kubeconfig(client, selected, name, folder) for name in names}


def _admissions_own(port: int) -> list[JsonObject]:
    """An empty Secret, and webhooks with the address of the admission process."""
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
        # An object of an earlier start is kept as it is.
        if error.code != _CONFLICT:
            raise


def _write_kubeconfig(
    client: Client, administrator: SelectedContext, service: str, folder: Path
) -> str:
    """The administrator's kubeconfig with another user: the service's account and its token."""
    account = account_of(service)
    request = client.call(
        "POST",
        f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts/{account}/token",
        body={
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        },
    )
    # Server and authority are the same for all users, so they are copied.
    own = administrator._replace(user_name=account, user={"token": request["status"]["token"]})
    return str(write_document(folder / f"{service}.kubeconfig", own.document()))

"""The cluster and user of a command: flags, then KUBECONFIG, then ~/.kube/config, then the pod's
service account.

`vc.kubeconfig` reads the files. This module only decides which ones.
"""

import os
from pathlib import Path
from typing import Final

from vc.cli.vcctl.api.errors import NoClusterError
from vc.kubeconfig.access import Access, read_access
from vc.kubeconfig.reader import KubeconfigError, kubeconfig_files, read_text

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_NO_CLUSTER: Final = (
    "no cluster: there is no kubeconfig. Name one with -k or KUBECONFIG, or a server with -s "
    "(`make up` writes .pyroclast/kubeconfig)"
)


def find_access(*, master: str, kubeconfig: str) -> Access:
    """The access by flags and environment. `master` overrides only the server's address."""
    files = _files(kubeconfig)
    try:
        if files:
            access = read_access(files)
        elif master:
            access = Access(server=master)
        else:
            access = _in_cluster()
    except KubeconfigError as error:
        raise NoClusterError(str(error)) from None
    # The rule of client-go: the flag replaces the server, but the user of the kubeconfig stays.
    return access._replace(server=master) if master else access


def _files(flag: str) -> list[Path]:
    """The kubeconfig files to read."""
    # A flag names one file, even if its name contains the separator of KUBECONFIG.
    if flag:
        return [Path(flag)]
    named = os.environ.get("KUBECONFIG", "")
    if named:
        return kubeconfig_files(named)
    # Its absence is no error: inside a pod the service account is used instead.
    usual = Path.home() / ".kube" / "config"
    return [usual] if usual.exists() else []


def _in_cluster() -> Access:
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    token = SERVICE_ACCOUNT / "token"
    if not host or not token.exists():
        raise NoClusterError(_NO_CLUSTER)
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    # An IPv6 address needs brackets in a URL, and Kubernetes sets the variable without them.
    shown = f"[{host}]" if ":" in host else host
    mounted = "the pod's service account"
    return Access(
        server=f"https://{shown}:{port}",
        ca_pem=read_text(SERVICE_ACCOUNT / "ca.crt", field=mounted),
        # The file may end with a newline, which is not allowed in a header.
        token=read_text(token, field=mounted).strip(),
    )

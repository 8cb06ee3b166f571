"""The address of an API server and the credentials of a user, as plain values."""

import base64
import binascii
from pathlib import Path
from typing import Any, NamedTuple

from vc.kubeconfig.reader import (
    JsonObject,
    KubeconfigError,
    SelectedContext,
    read_context,
    read_text,
)


class Access(NamedTuple):
    """Everything that a connection needs."""

    server: str
    ca_pem: str = ""
    cert_pem: str = ""
    key_pem: str = ""
    token: str = ""
    basic: str = ""
    """`user:password`, for the few clusters that still accept it."""
    verify: bool = True
    tls_server_name: str = ""
    """The name in the server's certificate, if it differs from the address."""
    proxy_url: str = ""


def read_access(files: list[Path], *, context: str = "") -> Access:
    """The access of one context, by default the current one."""
    return access_of(read_context(files, context=context))


def access_of(selected: SelectedContext) -> Access:
    """Read the certificates and the token that a context names, and run its credential plugin."""
    cluster, user = selected.cluster, selected.user
    cluster_field = f"clusters[{selected.cluster_name}].cluster"
    user_field = f"users[{selected.user_name}].user"
    token = str(user.get("token") or "")
    if not token and user.get("tokenFile"):
        # The file may be renewed at any time, so it is read for each command.
        token = read_text(Path(user["tokenFile"]), field=f"{user_field}.tokenFile").strip()
    access = Access(
        server=str(cluster["server"]),
        ca_pem=_pem(cluster, "certificate-authority", cluster_field, selected.source),
        cert_pem=_pem(user, "client-certificate", user_field, selected.source),
        key_pem=_pem(user, "client-key", user_field, selected.source),
        token=token,
        basic=f"{user['username']}:{user.get('password', '')}" if user.get("username") else "",
        verify=not cluster.get("insecure-skip-tls-verify", False),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        proxy_url=str(cluster.get("proxy-url") or ""),
    )
    plugin = user.get("exec")
    # Like kubectl: a plugin is called only if the kubeconfig has no credentials of its own.
    if isinstance(plugin, dict) and not (token or access.cert_pem):
        # Most kubeconfigs name no plugin, and importing subprocess is slow.
        from vc.kubeconfig.exec_credentials import run_credential_plugin

        found = run_credential_plugin(
            plugin, server=access.server, field=f"{selected.source}: {user_field}.exec"
        )
        access = access._replace(token=found.token, cert_pem=found.cert_pem, key_pem=found.key_pem)
    return access


def _pem(entry: JsonObject, name: str, field: str, source: str) -> str:
    """Inline data takes precedence over a file, as in kubectl."""
    data: Any = entry.get(f"{name}-data")
    if data:
        try:
            # Strict: skipped characters would make TLS fail later without naming the file.
            return base64.b64decode(str(data), validate=True).decode("ascii")
        except (binascii.Error, ValueError):
            raise KubeconfigError(
                f"{source}: {field}.{name}-data: not base64 of PEM text; "
                f"encode the PEM file with `base64 -w0`, or name the file in {name}"
            ) from None
    path = entry.get(name)
    return read_text(Path(path), field=f"{field}.{name}") if path else ""

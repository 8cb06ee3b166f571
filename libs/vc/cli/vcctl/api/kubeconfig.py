"""The cluster and user: flags, then KUBECONFIG, then ~/.kube/config, then the pod's service
account.

Files named in a kubeconfig are read relative to it, as kubectl does. Credentials of `exec` plugins
come from `exec_credentials`.
"""

import base64
import binascii
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from vc.cli.vcctl.api.errors import NoClusterError
from vc.cli.vcctl.api.resources import JsonObject

KUBECONFIG_BYTES_MAX: Final = 4 * 1024 * 1024
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_NO_CLUSTER: Final = (
    "no cluster: there is no kubeconfig. Name one with -k or KUBECONFIG, or a server with -s "
    "(`make up` writes .pyroclast/kubeconfig)"
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


def find_access(*, master: str, kubeconfig: str) -> Access:
    """The access by flags and environment. `master` overrides only the server's address."""
    files = _files(kubeconfig)
    if files:
        access = read_access(files)
    elif master:
        access = Access(server=master)
    else:
        access = _in_cluster()
    return access._replace(server=master) if master else access


def _files(flag: str) -> list[Path]:
    """The kubeconfig files to read. Missing files of a list in KUBECONFIG are skipped."""
    if flag:
        return [Path(flag)]
    named = os.environ.get("KUBECONFIG", "")
    if named:
        paths = [Path(part) for part in named.split(os.pathsep) if part]
        # If none exists, the first is kept, so that the error message names it.
        return [path for path in paths if path.exists()] or paths[:1]
    usual = Path.home() / ".kube" / "config"
    return [usual] if usual.exists() else []


def _in_cluster() -> Access:
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    token = SERVICE_ACCOUNT / "token"
    if not host or not token.exists():
        raise NoClusterError(_NO_CLUSTER)
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    shown = f"[{host}]" if ":" in host else host
    return Access(
        server=f"https://{shown}:{port}",
        ca_pem=_text(SERVICE_ACCOUNT / "ca.crt"),
        token=_text(token).strip(),
    )


def read_access(files: list[Path]) -> Access:
    """The access of the current context. If two files define an entry, the first one is used."""
    configs = [(_load(file), file.parent) for file in files]
    # As in kubectl, the first file that sets the current context decides.
    current = next((str(c["current-context"]) for c, _ in configs if c.get("current-context")), "")
    where = ", ".join(str(file) for file in files)
    if not current:
        raise NoClusterError(f"{where}: no current-context; choose one with kubectl config")
    context, _ = _named(configs, "contexts", current, where)
    cluster, cluster_folder = _named(configs, "clusters", str(context.get("cluster", "")), where)
    user: JsonObject = {}
    # A context may have no user, for example for a server without authentication.
    user_folder = cluster_folder
    if context.get("user"):
        user, user_folder = _named(configs, "users", str(context["user"]), where)
    return _with_user(_of_cluster(cluster, cluster_folder, where), user, user_folder)


def _load(file: Path) -> JsonObject:
    import yaml

    text = _text(file)
    # the C loader is faster, where it is available
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        config = yaml.load(text, Loader=loader)  # noqa: S506 - both are safe loaders
    except yaml.YAMLError as error:
        raise NoClusterError(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(config, dict):
        raise NoClusterError(f"{file}: not a kubeconfig")
    return config


def _named(
    configs: list[tuple[JsonObject, Path]], section: str, name: str, where: str
) -> tuple[JsonObject, Path]:
    singular = section.removesuffix("s")
    for config, folder in configs:
        for entry in config.get(section) or []:
            if isinstance(entry, dict) and entry.get("name") == name:
                return entry.get(singular) or {}, folder
    raise NoClusterError(f"{where}: there is no {singular} {name!r} in it")


def _of_cluster(cluster: JsonObject, folder: Path, where: str) -> Access:
    if not cluster.get("server"):
        raise NoClusterError(f"{where}: the cluster has no server")
    return Access(
        server=str(cluster["server"]),
        ca_pem=_pem(cluster, "certificate-authority", folder),
        verify=not cluster.get("insecure-skip-tls-verify", False),
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        proxy_url=str(cluster.get("proxy-url") or ""),
    )


def _with_user(access: Access, user: JsonObject, folder: Path) -> Access:
    token = str(user.get("token") or "")
    if not token and user.get("tokenFile"):
        # The file may be renewed at any time, so it is read for each command.
        token = _text(folder / str(user["tokenFile"])).strip()
    basic = f"{user['username']}:{user.get('password', '')}" if user.get("username") else ""
    access = access._replace(
        token=token,
        basic=basic,
        cert_pem=_pem(user, "client-certificate", folder),
        key_pem=_pem(user, "client-key", folder),
    )
    plugin = user.get("exec")
    # Like kubectl: a plugin is called only if the kubeconfig has no credentials of its own.
    if isinstance(plugin, dict) and not (token or access.cert_pem):
        from vc.cli.vcctl.api.exec_credentials import ask_plugin

        found = ask_plugin(plugin, server=access.server)
        access = access._replace(token=found.token, cert_pem=found.cert_pem, key_pem=found.key_pem)
    return access


def _pem(entry: JsonObject, field: str, folder: Path) -> str:
    """Inline data takes precedence over a file, as in kubectl."""
    data: Any = entry.get(f"{field}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True).decode("ascii")
        except (binascii.Error, UnicodeDecodeError):
            raise NoClusterError(f"kubeconfig: {field}-data is not base64 of PEM") from None
    path = entry.get(field)
    return _text(folder / str(path)) if path else ""


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > KUBECONFIG_BYTES_MAX:
            raise NoClusterError(f"{file}: larger than {KUBECONFIG_BYTES_MAX} bytes")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise NoClusterError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise NoClusterError(f"{file}: not UTF-8 text") from None

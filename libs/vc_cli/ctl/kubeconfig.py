"""Which cluster, and as whom: flags, then KUBECONFIG, then ~/.kube/config, then the pod we run in.

Files named in a kubeconfig are read relative to it, as kubectl does. Credentials that a program
gives (`exec`) come from `exec_credentials`.
"""

import base64
import binascii
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from vc_cli.ctl.errors import NoClusterError
from vc_cli.ctl.resources import JsonObject

KUBECONFIG_BYTES_MAX: Final = 4 * 1024 * 1024
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_NO_CLUSTER: Final = (
    "no cluster: there is no kubeconfig. Name one with -k or KUBECONFIG, or a server with -s "
    "(`make up` writes .pyroclast/kubeconfig)"
)


class Access(NamedTuple):
    """All that a connection needs."""

    server: str
    ca_pem: str = ""
    cert_pem: str = ""
    key_pem: str = ""
    token: str = ""
    basic: str = ""
    """`user:password`, for the rare cluster that still takes one."""
    verify: bool = True
    tls_server_name: str = ""
    """Whose certificate the server shows, when that is not its address."""
    proxy_url: str = ""


def find_access(*, master: str, kubeconfig: str) -> Access:
    """What the flags and the environment say; `master` overrides the server's address only."""
    files = _files(kubeconfig)
    if files:
        access = read_access(files)
    elif master:
        access = Access(server=master)
    else:
        access = _in_cluster()
    return access._replace(server=master) if master else access


def _files(flag: str) -> list[Path]:
    """The files to read; those of a list in KUBECONFIG that do not exist are left out."""
    if flag:
        return [Path(flag)]
    named = os.environ.get("KUBECONFIG", "")
    if named:
        paths = [Path(part) for part in named.split(os.pathsep) if part]
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
    """The current context of the files; of two entries of one name the first counts."""
    configs = [(_load(file), file.parent) for file in files]
    current = next((str(c["current-context"]) for c, _ in configs if c.get("current-context")), "")
    where = ", ".join(str(file) for file in files)
    if not current:
        raise NoClusterError(f"{where}: no current-context; choose one with kubectl config")
    context, _ = _named(configs, "contexts", current, where)
    cluster, cluster_folder = _named(configs, "clusters", str(context.get("cluster", "")), where)
    user: JsonObject = {}
    user_folder = cluster_folder
    if context.get("user"):
        user, user_folder = _named(configs, "users", str(context["user"]), where)
    return _with_user(_of_cluster(cluster, cluster_folder, where), user, user_folder)


def _load(file: Path) -> JsonObject:
    import yaml

    text = _text(file)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast one, where it was built
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
        token = _text(folder / str(user["tokenFile"])).strip()
    basic = f"{user['username']}:{user.get('password', '')}" if user.get("username") else ""
    access = access._replace(
        token=token,
        basic=basic,
        cert_pem=_pem(user, "client-certificate", folder),
        key_pem=_pem(user, "client-key", folder),
    )
    plugin = user.get("exec")
    if isinstance(plugin, dict) and not (token or access.cert_pem):
        from vc_cli.ctl.exec_credentials import ask_plugin

        found = ask_plugin(plugin, server=access.server)
        access = access._replace(token=found.token, cert_pem=found.cert_pem, key_pem=found.key_pem)
    return access


def _pem(entry: JsonObject, field: str, folder: Path) -> str:
    """Inline data counts more than a file, as with kubectl."""
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

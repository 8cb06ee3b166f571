"""Credentials from a program that the kubeconfig names (cloud providers' way of logging in)."""

import json
import os
import subprocess
from typing import Final, NamedTuple

from vc_cli.ctl.errors import NoClusterError
from vc_cli.ctl.resources import JsonObject

PLUGIN_SECONDS_MAX: Final = 60.0
"""A person may have to type a code meanwhile."""
_DEFAULT_VERSION: Final = "client.authentication.k8s.io/v1"


class Credentials(NamedTuple):
    """What the program gave."""

    token: str = ""
    cert_pem: str = ""
    key_pem: str = ""


def ask_plugin(plugin: JsonObject, *, server: str) -> Credentials:
    """Run it; its stderr goes to the person's terminal, as with kubectl."""
    command = str(plugin.get("command", ""))
    words = [command, *(str(word) for word in plugin.get("args") or [])]
    try:
        done = subprocess.run(  # noqa: S603 - the user's own kubeconfig names it
            words,
            env=_environment(plugin, server),
            stdout=subprocess.PIPE,
            timeout=PLUGIN_SECONDS_MAX,
            check=False,
        )
    except OSError as error:
        hint = plugin.get("installHint") or "is it installed?"
        raise NoClusterError(f"credentials plugin {command!r}: {error.strerror}; {hint}") from None
    except subprocess.TimeoutExpired:
        raise NoClusterError(
            f"credentials plugin {command!r}: no answer in {PLUGIN_SECONDS_MAX:.0f} s"
        ) from None
    if done.returncode != 0:
        raise NoClusterError(f"credentials plugin {command!r}: exit code {done.returncode}")
    return _read(done.stdout, command)


def _environment(plugin: JsonObject, server: str) -> dict[str, str]:
    given = {
        str(entry["name"]): str(entry.get("value", ""))
        for entry in plugin.get("env") or []
        if isinstance(entry, dict) and entry.get("name")
    }
    info = {
        "apiVersion": plugin.get("apiVersion") or _DEFAULT_VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": server}},
    }
    return {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _read(answer: bytes, command: str) -> Credentials:
    try:
        status = json.loads(answer).get("status") or {}
        found = Credentials(
            token=str(status.get("token") or ""),
            cert_pem=str(status.get("clientCertificateData") or ""),
            key_pem=str(status.get("clientKeyData") or ""),
        )
    except (ValueError, AttributeError):
        raise NoClusterError(
            f"credentials plugin {command!r}: its answer is not an ExecCredential"
        ) from None
    if not (found.token or found.cert_pem):
        raise NoClusterError(f"credentials plugin {command!r}: gave no credentials")
    return found

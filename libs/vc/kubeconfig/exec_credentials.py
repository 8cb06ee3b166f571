"""Credentials from an exec plugin that the kubeconfig names, as cloud providers use them."""

import json
import os
import subprocess
from typing import Final, NamedTuple

from vc.kubeconfig.reader import JsonObject, KubeconfigError

PLUGIN_SECONDS_MAX: Final = 60.0
"""The user may have to type a code during this time."""
_DEFAULT_VERSION: Final = "client.authentication.k8s.io/v1"


class ExecCredential(NamedTuple):
    """The credentials that the plugin returned."""

    token: str = ""
    cert_pem: str = ""
    key_pem: str = ""


def run_credential_plugin(plugin: JsonObject, *, server: str, field: str) -> ExecCredential:
    """Run the plugin. Its standard error goes to the terminal, as with kubectl."""
    command = str(plugin.get("command", ""))
    words = [command, *(str(word) for word in plugin.get("args") or [])]
    where = f"{field}: credentials plugin {command!r}"
    try:
        # Standard error is inherited, so that a login prompt of the plugin is visible.
        done = subprocess.run(  # noqa: S603 - the user's own kubeconfig names it
            words,
            env=_environment(plugin, server),
            stdout=subprocess.PIPE,
            timeout=PLUGIN_SECONDS_MAX,
            check=False,
        )
    except OSError as error:
        hint = plugin.get("installHint") or "is it installed?"
        raise KubeconfigError(f"{where}: {error.strerror}; {hint}") from None
    except subprocess.TimeoutExpired:
        raise KubeconfigError(
            f"{where}: no response in {PLUGIN_SECONDS_MAX:.0f} s; run it by hand to see why"
        ) from None
    if done.returncode != 0:
        raise KubeconfigError(f"{where}: exit code {done.returncode}; run it by hand to see why")
    return _parse(done.stdout, where)


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
    # The plugin protocol of client-go passes its input in this variable.
    return {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _parse(output: bytes, where: str) -> ExecCredential:
    try:
        status = json.loads(output).get("status") or {}
        found = ExecCredential(
            token=str(status.get("token") or ""),
            cert_pem=str(status.get("clientCertificateData") or ""),
            key_pem=str(status.get("clientKeyData") or ""),
        )
    # The output is not quoted in the error, because it may contain a token.
    except (ValueError, AttributeError):
        raise KubeconfigError(
            f"{where}: its output is not an ExecCredential; run it by hand to see why"
        ) from None
    # An empty credential would lead to a 401 whose cause is hard to find.
    if not (found.token or found.cert_pem):
        raise KubeconfigError(f"{where}: returned no credentials; log in with it again")
    return found

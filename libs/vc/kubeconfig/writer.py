"""Write kubeconfig files of one context, for clusters that this project starts."""

import base64
import os
import tempfile
from pathlib import Path
from typing import Final

from vc.kubeconfig.reader import JsonObject

CONTEXT_NAME: Final = "pyroclast"
"""Name of the cluster and the context in every file written here."""
_MODE: Final = 0o600


def kubeconfig_document(
    server: str,
    *,
    ca_pem: bytes = b"",
    user_name: str = CONTEXT_NAME,
    token: str = "",
    namespace: str = "default",
) -> JsonObject:
    """A kubeconfig that includes the certificate authority, so that the file can be copied."""
    cluster: JsonObject = {"server": server}
    if ca_pem:
        cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    context = {"cluster": CONTEXT_NAME, "user": user_name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT_NAME, "cluster": cluster}],
        # kubectl requires a user entry, also for a server without authentication.
        "users": [{"name": user_name, "user": {"token": token} if token else {}}],
        "contexts": [{"name": CONTEXT_NAME, "context": context}],
        "current-context": CONTEXT_NAME,
    }


def write_kubeconfig(
    path: Path,
    server: str,
    *,
    ca_pem: bytes = b"",
    user_name: str = CONTEXT_NAME,
    token: str = "",
    namespace: str = "default",
) -> Path:
    """Write a kubeconfig with one context."""
    document = kubeconfig_document(
        server, ca_pem=ca_pem, user_name=user_name, token=token, namespace=namespace
    )
    return write_document(path, document)


def write_document(path: Path, document: JsonObject) -> Path:
    """Write the file atomically, readable for its owner only, because it may contain a token."""
    # Processes that only read a kubeconfig need no YAML writer.
    import yaml

    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(document, sort_keys=False)
    # A temporary file in the same directory makes the final rename atomic.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), _MODE)
            file.write(text)
            file.flush()
            # Without fsync a crash after the rename could leave an empty file.
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path

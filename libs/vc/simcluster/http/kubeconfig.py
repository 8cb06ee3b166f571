"""The kubeconfig for the embedded cluster."""

import os
import tempfile
from pathlib import Path
from typing import Final

import yaml

from vc.model.api.struct import JsonObject

CLUSTER_NAME: Final = "pyroclast"
_MODE: Final = 0o600


def kubeconfig(url: str, *, namespace: str = "default") -> JsonObject:
    """A kubeconfig with one cluster, one user without credentials and one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER_NAME, "cluster": {"server": url}}],
        # The server has no authentication, but kubectl requires a user entry.
        "users": [{"name": CLUSTER_NAME, "user": {}}],
        "contexts": [
            {
                "name": CLUSTER_NAME,
                "context": {
                    "cluster": CLUSTER_NAME,
                    "user": CLUSTER_NAME,
                    "namespace": namespace,
                },
            }
        ],
        "current-context": CLUSTER_NAME,
    }


def write_kubeconfig(path: Path, url: str, *, namespace: str = "default") -> Path:
    """Write the file atomically, readable for its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(kubeconfig(url, namespace=namespace), sort_keys=False)
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

"""The kubeconfig that points kubectl at the embedded cluster."""

import os
import tempfile
from pathlib import Path
from typing import Final

import yaml

from vc_model.struct import JsonObject

CLUSTER_NAME: Final = "pyroclast"
_MODE: Final = 0o600


def kubeconfig(url: str, *, namespace: str = "default") -> JsonObject:
    """One cluster, one user without credentials, one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER_NAME, "cluster": {"server": url}}],
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
    """Write it for its owner only; a reader sees the old file or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(kubeconfig(url, namespace=namespace), sort_keys=False)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), _MODE)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path

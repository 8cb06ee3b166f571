"""Kubeconfig files for tests."""

import base64
from pathlib import Path
from typing import Any

import yaml


def config(
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    server: str = "https://here:6443",
) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


def write_config(
    folder: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None
) -> Path:
    return write_yaml(folder / "config", config(cluster=cluster, user=user))


def write_yaml(file: Path, document: Any) -> Path:
    file.write_text(yaml.safe_dump(document))
    return file


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()

"""The chart, rendered by real Helm, and what is in it."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.integration.parts.require import require
from vc.parts import obtain

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy" / "helm" / "pyroclast"
MANIFESTS = ROOT / "deploy" / "manifests"
RELEASE = "volcano"
NAMESPACE = "volcano-system"
KUBE_VERSION = "1.30.0"
"""The oldest that the chart takes; `make manifests` renders for it."""
SECONDS_MAX = 60.0

Manifest = dict[str, Any]
VALUE_SETS: dict[str, Mapping[str, Any]] = {
    "defaults": {},
    "the-seeds-switches": {
        "basic": {part: {"enabled": True} for part in ("scheduler", "controller", "admission")}
    },
    "scheduler-only-beside-volcano": {
        "basic": {"controller": {"enabled": False}, "admission": {"enabled": False}},
        "schedulerName": "pyroclast",
    },
    "secured-servers": {
        "kafka": {
            "bootstrapServers": "a.kafka:9093,b.kafka:9093",
            "securityProtocol": "SASL_SSL",
            "username": "pyroclast",
            "password": "not a real one",
            "ca": "PEM",
        },
        "redis": {"url": "rediss://:not-a-real-one@redis:6380/0", "ca": "PEM"},
        "otlpEndpoint": "http://collector:4318",
    },
    "secrets-of-others": {
        "kafka": {
            "securityProtocol": "SSL",
            "existingSecret": "kafka-client",
            "clientCertificate": True,
        },
        "redis": {"existingSecret": "redis-login", "tls": True},
        "services": {"plugin-ssh": {"kafkaSecret": "kafka-ssh", "namespaces": ["ml", "hpc"]}},
    },
    "everything-turned": {
        "schedulerName": "volcano,pyroclast",
        "image": {
            "registry": "registry.example.com/batch",
            "tag": "1.2.3",
            "pullSecrets": ["pull"],
        },
        "admissionConfig": "resourceGroups: []\n",
        "metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
        "networkPolicy": {
            "apiServerCidr": "10.0.0.0/8",
            "metricsFrom": [{"podSelector": {"matchLabels": {"app": "prometheus"}}}],
        },
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "services": {
            "scheduler": {"replicas": 2, "env": {"SCHEDULER_DEBOUNCE_SECONDS": 0.05}},
            "plugin-ray": {"enabled": False},
            "watcher": {"replicas": 0},
        },
    },
    "without-policies-and-dashboard": {
        "networkPolicy": {"enabled": False},
        "dashboard": {"enabled": False},
        "userRoles": {"enabled": False},
    },
}


def helm(*arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Run it; the test is skipped where it cannot be had."""
    require("helm")
    return subprocess.run(
        [str(obtain("helm").path), *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def template(
    values: Mapping[str, Any], *extra: str, release: str = RELEASE
) -> "subprocess.CompletedProcess[str]":
    """`helm template` with these values over the defaults."""
    return helm(
        "template", release, str(CHART), "--namespace", NAMESPACE,
        "--kube-version", KUBE_VERSION, "--values", "-", *extra,
        given=yaml.safe_dump(dict(values)),
    )  # fmt: skip


def render(values: Mapping[str, Any], *, release: str = RELEASE) -> list[Manifest]:
    """The manifests; a refusal fails the test."""
    done = template(values, release=release)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def of_kind(manifests: Sequence[Manifest], kind: str) -> dict[str, Manifest]:
    """By name."""
    return {m["metadata"]["name"]: m for m in manifests if m["kind"] == kind}


def container_of(deployment: Manifest) -> Manifest:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    found: Manifest = container
    return found

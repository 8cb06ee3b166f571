"""A real kube-apiserver takes all of it, and its Pod Security admission lets our pods be made."""

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.deploy.chart import (
    CHART,
    MANIFESTS,
    NAMESPACE,
    RELEASE,
    ROOT,
    VALUE_SETS,
    helm,
    template,
)
from tests.integration.deploy.kubectl import Kubectl
from tests.integration.parts.require import require
from tests.integration.stack.running import eventually
from vc.cli.pyroclast.services import SERVICES
from vc.parts import ControlPlane
from vc.parts.certificates import Authority

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(300)]

SERVICE_MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"kind": "ServiceMonitor", "plural": "servicemonitors"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
"""Stands for the Prometheus operator's definition: that the kind is served is all we need."""

ALWAYS_SENT = {"poddisruptionbudget.policy", "secret"}
"""kubectl replaces a budget's selector and a Secret's stringData whole, whether they differ or not."""

A_CERTIFICATE = Authority().key_pair.certificate
"""The API server takes no other bytes."""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    require("kubernetes", "kubectl", "helm", own=True)
    folder: Path = tmp_path_factory.mktemp("kubectl")
    with asyncio.Runner() as runner:
        plane = ControlPlane()
        runner.run(plane.__aenter__())
        try:
            yield Kubectl(plane.kubeconfig, folder=folder)
        finally:
            runner.run(plane.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def prepared(kubectl: Kubectl) -> Kubectl:
    """A cluster in which the namespaces are made, and nothing of ours is installed."""
    kubectl.ok("apply", "-f", str(MANIFESTS / "00-namespace.yaml"))
    for namespace in ("ml", "hpc"):
        kubectl.ok("create", "namespace", namespace)
    kubectl.ok("apply", "-f", "-", given=json.dumps(SERVICE_MONITORS))
    name = "crd/servicemonitors.monitoring.coreos.com"
    kubectl.ok("wait", "--for=condition=Established", name, "--timeout=30s")
    return kubectl


@pytest.mark.parametrize("name", VALUE_SETS)
def test_the_server_takes_every_value_set(name: str, prepared: Kubectl) -> None:
    rendered = template(VALUE_SETS[name], "--include-crds").stdout
    done = prepared.run("apply", "--dry-run=server", "-f", "-", given=rendered)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, "Pod Security or a deprecated field"
    taken = len(done.stdout.splitlines())
    assert taken == len([d for d in yaml.safe_load_all(rendered) if d])


def test_plain_manifests_install_and_their_pods_are_let_in(prepared: Kubectl) -> None:
    folders = ("-f", str(ROOT / "deploy" / "crds"), "-f", str(MANIFESTS))
    prepared.ok("apply", *folders)
    again = [line.partition("/") for line in prepared.ok("apply", *folders).splitlines()]
    changed = {kind for kind, _, rest in again if not rest.endswith("unchanged")}
    assert changed <= ALWAYS_SENT

    def missing() -> set[str]:
        pods = json.loads(prepared.ok("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]
        made = {pod["spec"]["serviceAccountName"] for pod in pods}
        return {f"{RELEASE}-{service}" for service in SERVICES} - made

    eventually(lambda: not missing(), "a pod of each Deployment")
    shown = prepared.ok("get", "pods", "-n", NAMESPACE)
    assert "volcano-scheduler" in shown
    assert "volcano-admission" in shown


MAY_AND_MAY_NOT = {
    "create jobs.batch.volcano.sh -n ml": "yes",
    "delete podgroups.scheduling.volcano.sh -n ml": "yes",
    "create commands.bus.volcano.sh -n ml": "yes",
    "create jobs.batch.volcano.sh -n hpc": "no",
    "patch jobs.batch.volcano.sh --subresource=status -n ml": "no",
    "get queues.scheduling.volcano.sh": "yes",
    "create queues.scheduling.volcano.sh": "no",
    "get services/volcano-dashboard:80 --subresource=proxy -n volcano-system": "yes",
    "create services/volcano-dashboard:80 --subresource=proxy -n volcano-system": "yes",
    "delete services/volcano-dashboard:80 --subresource=proxy -n volcano-system": "no",
    "get services/volcano-admission-service:443 --subresource=proxy -n volcano-system": "no",
    "get secrets/volcano-redis -n volcano-system": "no",
}


def test_people_get_their_namespace_and_a_look_at_queues(prepared: Kubectl) -> None:
    edit = ("--clusterrole=volcano-user-edit", "--user=ann")
    prepared.ok("create", "rolebinding", "ann", "-n", "ml", *edit)
    look = ("--clusterrole=volcano-queue-viewer", "--user=ann")
    prepared.ok("create", "clusterrolebinding", "ann", *look)
    answers = {
        asked: prepared.run("auth", "can-i", *asked.split(), "--as=ann").stdout.strip()
        for asked in MAY_AND_MAY_NOT
    }
    assert answers == MAY_AND_MAY_NOT


FILLED_IN = {"ca.crt": base64.b64encode(b"an authority").decode()}
WEBHOOKS = "mutatingwebhookconfiguration"


def fill_in(kubectl: Kubectl, release: str, namespace: str) -> None:
    """What admission does: its certificates into its Secret, its authority into its webhooks."""
    secret = ("secret", f"{release}-admission-certs", "-n", namespace)
    kubectl.ok("patch", *secret, "--type=merge", "-p", json.dumps({"data": FILLED_IN}))
    change = {
        "op": "add",
        "path": "/webhooks/0/clientConfig/caBundle",
        "value": base64.b64encode(A_CERTIFICATE).decode(),
    }
    configuration = (WEBHOOKS, f"{release}-admission")
    kubectl.ok("patch", *configuration, "--type=json", "-p", json.dumps([change]))


def filled_in(kubectl: Kubectl, release: str, namespace: str) -> tuple[Any, Any]:
    secret = kubectl.ok(
        "get", "secret", f"{release}-admission-certs", "-n", namespace, "-o", "json"
    )
    found = kubectl.ok("get", WEBHOOKS, f"{release}-admission", "-o", "json")
    client = json.loads(found)["webhooks"][0]["clientConfig"]
    return json.loads(secret).get("data"), client.get("caBundle")


def test_applying_again_keeps_what_admission_filled_in(prepared: Kubectl) -> None:
    """An authority that is gone would shut the API server out until admission looks again."""
    fill_in(prepared, RELEASE, NAMESPACE)
    before = filled_in(prepared, RELEASE, NAMESPACE)
    prepared.ok("apply", "-f", str(MANIFESTS))
    assert filled_in(prepared, RELEASE, NAMESPACE) == before
    assert before[0] == FILLED_IN
    assert before[1]


def test_a_helm_upgrade_keeps_what_admission_filled_in(prepared: Kubectl) -> None:
    where = ("--namespace", "second", "--kubeconfig", str(prepared.kubeconfig))
    done = helm("install", "second", str(CHART), *where, "--create-namespace")
    assert done.returncode == 0, done.stderr
    fill_in(prepared, "second", "second")
    before = filled_in(prepared, "second", "second")
    done = helm("upgrade", "second", str(CHART), *where, "--set", "log.level=DEBUG")
    assert done.returncode == 0, done.stderr
    assert filled_in(prepared, "second", "second") == before
    assert before[0] == FILLED_IN
    assert before[1]


def test_a_pod_that_asks_for_more_is_refused_there(prepared: Kubectl) -> None:
    """Or the namespace's label would prove nothing."""
    done = prepared.run("run", "root", "-n", NAMESPACE, "--image=busybox:1.36", "--privileged")
    assert done.returncode != 0
    assert "violates PodSecurity" in done.stderr

"""What `helm uninstall` of Volcano does to a cluster, and that the recipe of deploy/README.md avoids it.

Real Helm and a real API server. The recipe is taken from the page, so what is tested is what is read there.
"""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.deploy import volcanos_objects as volcano
from tests.integration.deploy.chart import CHART, NAMESPACE, RELEASE, ROOT, helm
from tests.integration.deploy.kubectl import Kubectl
from tests.integration.deploy.volcanos_chart import definitions, write_chart
from tests.integration.kubectl.shell import find_kubectl
from tests.integration.parts.require import require
from tests.integration.stack.running import eventually
from vc.parts import ControlPlane, obtain

pytestmark = [pytest.mark.kubernetes, pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = ROOT / "deploy" / "README.md"
SECONDS_MAX = 90.0
GONE_SECONDS_MAX = 300.0
"""The API server deletes the objects of a definition first, and tries again later and later when a cache of
its own still shows some."""
OBJECTS = (("queue", volcano.QUEUE), ("vcjob", volcano.JOB))


def block(tag: str) -> str:
    """The console block of the page with this tag."""
    (found,) = re.findall(
        rf"^```console {tag}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    text: str = found
    return text


class Inherited:
    """A cluster with a release of Volcano's, a queue and a job."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.folder = folder
        self.kubectl = Kubectl(kubeconfig, folder=folder)
        self.kubeconfig = kubeconfig
        self.chart = write_chart(folder)

    def helm(self, *arguments: str) -> str:
        done = helm(*arguments, "--namespace", NAMESPACE, "--kubeconfig", str(self.kubeconfig))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self) -> dict[str, str]:
        """Gives the uids of what people made."""
        self.helm("install", RELEASE, str(self.chart), "--create-namespace")
        for name in definitions():
            self.kubectl.ok("wait", "--for=condition=Established", f"crd/{name}", "--timeout=60s")
        self.helm("upgrade", RELEASE, str(self.chart), "--set", "queue=true")
        for manifest in (volcano.queue(), volcano.job()):
            self.kubectl.ok("create", "-f", "-", given=json.dumps(manifest))
        return self.uids()

    def uids(self) -> dict[str, str]:
        """Of definitions and objects that are there."""
        wanted = [("crd", name) for name in definitions()]
        wanted += [*OBJECTS, ("queue", "of-the-chart")]
        found = {}
        for kind, name in wanted:
            done = self.kubectl.run("get", kind, name, "-o", "jsonpath={.metadata.uid}")
            if done.returncode == 0:
                found[f"{kind}/{name}"] = done.stdout
        return found

    def definitions_are_gone(self) -> bool:
        return not [name for name in self.uids() if name.startswith("crd/")]

    def until_definitions_are_gone(self) -> None:
        gone, said = self.definitions_are_gone, "the definitions are gone"
        eventually(gone, said, seconds_max=GONE_SECONDS_MAX)

    def type_in(self, text: str) -> "subprocess.CompletedProcess[str]":
        """As a person does, who stops at the first command that fails."""
        tools = self.folder / "bin"
        tools.mkdir(exist_ok=True)
        for name, path in (("helm", obtain("helm").path), ("kubectl", find_kubectl())):
            if not (tools / name).exists():
                (tools / name).symlink_to(path)
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env={
                "PATH": f"{tools}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "KUBECONFIG": str(self.kubeconfig),
            },
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )

    def wipe(self) -> None:
        """Ready for the next test."""
        for release in self.helm("list", "--short").split():
            self.helm("uninstall", release)
        for kind, name in OBJECTS:
            self.kubectl.run("delete", kind, name, "--ignore-not-found")
        self.kubectl.ok("delete", "crd", "--wait=false", "--ignore-not-found", *definitions())
        self.until_definitions_are_gone()


@pytest.fixture(scope="module")
def plane() -> Iterator[Path]:
    require("kubernetes")
    require("helm")
    find_kubectl()
    with asyncio.Runner() as runner:
        made = ControlPlane()
        runner.run(made.start())
        try:
            yield made.kubeconfig
        finally:
            runner.run(made.stop())


@pytest.fixture
def cluster(plane: Path, tmp_path: Path) -> Iterator[Inherited]:
    made = Inherited(plane, tmp_path)
    try:
        yield made
    finally:
        made.wipe()


def test_a_plain_uninstall_deletes_all_definitions_and_all_jobs_and_queues(
    cluster: Inherited,
) -> None:
    before = cluster.install()
    assert len(before) == len(definitions()) + 3
    cluster.helm("uninstall", RELEASE)
    cluster.until_definitions_are_gone()
    assert cluster.uids() == {}


def test_a_keep_policy_on_the_cluster_alone_saves_nothing(cluster: Inherited) -> None:
    cluster.install()
    crds = [f"crd/{name}" for name in definitions()]
    cluster.kubectl.ok("annotate", *crds, "helm.sh/resource-policy=keep")
    counted = cluster.type_in(f"{block('keep-policy')} || true").stdout.split()
    assert counted == [str(len(crds)), "0"], "the page's check must warn of it"
    cluster.helm("uninstall", RELEASE)
    cluster.until_definitions_are_gone()
    assert cluster.uids() == {}


def test_the_recipe_of_the_page_keeps_every_definition_and_object(cluster: Inherited) -> None:
    before = cluster.install()
    done = cluster.type_in(block("take-over"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "STOP" not in done.stdout
    assert cluster.uids() == before, "the very same objects"
    assert cluster.helm("list", "--short", "--all") == "", "no release that could delete them"
    for kind in ("deployment", "serviceaccount", "configmap"):
        left = cluster.kubectl.ok("get", kind, "-n", NAMESPACE, "-o", "name")
        assert "volcano" not in left, left
    assert "volcano" not in cluster.kubectl.ok("get", "clusterroles", "-o", "name")
    cluster.helm("install", RELEASE, str(CHART))
    assert cluster.uids() == before, "our chart changes none of them"
    cluster.helm("uninstall", RELEASE)
    assert cluster.uids() == before, "and deletes none of them"


def test_the_recipe_stops_before_anything_is_deleted_when_a_definition_is_left_in(
    cluster: Inherited,
) -> None:
    before = cluster.install()
    text = block("take-over").replace("CustomResourceDefinition|Namespace", "Namespace")
    done = cluster.type_in(text)
    assert done.returncode != 0
    assert "STOP: this must not be deleted" in done.stdout
    assert cluster.uids() == before
    assert cluster.helm("list", "--short").split() == [RELEASE]


def test_a_keep_policy_in_the_release_keeps_them_and_the_page_can_tell(cluster: Inherited) -> None:
    before = cluster.install()
    cluster.helm("upgrade", RELEASE, str(cluster.chart), "--reuse-values", "--set", "keep=true")
    first, second = cluster.type_in(block("keep-policy")).stdout.split()
    assert first == second == str(len(definitions()))
    cluster.helm("uninstall", RELEASE)
    kept = {name: uid for name, uid in before.items() if name != "queue/of-the-chart"}
    assert cluster.uids() == kept

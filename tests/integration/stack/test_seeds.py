"""The users' own manifests on a real kube-apiserver, KWOK for kubelets, every service a process."""

from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.integration.stack.running import RunningStack, eventually, require
from tests.simulation.seeds import (
    GROUND,
    KINDS,
    SEEDS,
    Seed,
    check_pod,
    check_service,
    documents,
)
from vc_model.keys import JOB_NAME
from vc_model.kinds import Kind
from vc_model.struct import JsonObject
from vc_parts.kwok_stages import DELAY_ANNOTATION

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.redis,
    pytest.mark.kubernetes,
    pytest.mark.slow,
    pytest.mark.timeout(500),
    pytest.mark.xdist_group("stack"),
]

ALL_SECONDS_MAX = 240.0
RUN_SECONDS = {"4": "12s", "3": "12s", "5": "12s", "6": "20s", "60": "300s"}
"""Of the seeds' annotation, for KWOK: long enough to be looked at on a busy machine."""

CONFLICT = 409


def path(kind: Kind, namespace: str, name: str = "") -> str:
    group = "/api/v1" if kind.api_version == "v1" else f"/apis/{kind.api_version}"
    within = f"/namespaces/{namespace}" if kind.namespaced else ""
    return f"{group}{within}/{kind.plural}" + (f"/{name}" if name else "")


def with_kwok_delays(document: JsonObject) -> JsonObject:
    for task in document.get("spec", {}).get("tasks", []):
        annotations = task["template"].get("metadata", {}).get("annotations", {})
        for key, value in list(annotations.items()):
            if key.endswith("/run-seconds"):
                annotations[DELAY_ANNOTATION] = RUN_SECONDS[value]
    return document


def apply(stack: RunningStack, file: str) -> None:
    for document in documents(file):
        kind = KINDS[document["kind"]]
        namespace = document["metadata"].get("namespace", "default")
        try:
            stack.request("POST", path(kind, namespace), with_kwok_delays(document))
        except HTTPError as error:
            if error.code != CONFLICT:
                raise AssertionError(f"{file}: {error.read().decode()}") from error


class Look:
    """Checks every pod once, when it is first seen, and remembers it."""

    def __init__(self, stack: RunningStack, seeds: list[Seed]) -> None:
        self._stack = stack
        self._seeds = {(seed.namespace, seed.job): seed for seed in seeds}
        self.pods: dict[tuple[str, str], dict[str, JsonObject]] = {key: {} for key in self._seeds}

    def read(self, kind: Kind, name: str, namespace: str) -> JsonObject:
        return self._stack.request("GET", path(kind, namespace, name))

    def all_there(self) -> bool:
        """Look; whether each job has reached what it promises."""
        for pod in self._stack.request("GET", "/api/v1/pods")["items"]:
            metadata = pod["metadata"]
            key = (metadata["namespace"], metadata.get("labels", {}).get(JOB_NAME, ""))
            if key in self._seeds and metadata["name"] not in self.pods[key]:
                check_pod(self.read, self._seeds[key], pod)
                self.pods[key][metadata["name"]] = pod
                if self._seeds[key].has_service:
                    check_service(self.read, self._seeds[key], self.pods[key])
        return all(self.phase(seed) == seed.phase for seed in self._seeds.values())

    def phase(self, seed: Seed) -> str:
        job = self.read(KINDS["Job"], seed.job, seed.namespace)
        found: str = job.get("status", {}).get("state", {}).get("phase", "")
        return found

    def left(self, seed: Seed) -> set[str]:
        query = f"?labelSelector={JOB_NAME}={seed.job}"
        pods = self._stack.request("GET", f"/api/v1/namespaces/{seed.namespace}/pods{query}")
        return {pod["metadata"]["name"] for pod in pods["items"]}


def test_every_seed_reaches_the_phase_it_promises_on_a_real_api_server(tmp_path: Path) -> None:
    require("kafka", "redis", "kubernetes", "kwok")
    stack = RunningStack(tmp_path, CLUSTER="kubernetes")
    stack.up()
    try:
        apply(stack, GROUND)
        for seed in SEEDS:
            apply(stack, seed.file)
        look = Look(stack, SEEDS)
        try:
            took = eventually(look.all_there, "every phase", seconds_max=ALL_SECONDS_MAX)
        finally:
            print({seed.job: look.phase(seed) for seed in SEEDS})
        print(f"all seeds in {took:.0f} s")
        for seed in SEEDS:
            assert len(look.pods[seed.namespace, seed.job]) == seed.pods, seed.job
            if seed.kept is not None:
                assert look.left(seed) == seed.kept
    finally:
        stack.run("stack-down")

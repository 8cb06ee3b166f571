"""What a pod asks for."""

from dataclasses import dataclass

import pytest

from vc.model.api.pod import Container, PodSpec, ResourceRequirements
from vc.model.api.struct import ResourceList
from vc.model.pod_requests import pod_requests
from vc.model.values.quantity import QuantityError, parse_resources


def asking(
    requests: ResourceList | None = None,
    *,
    limits: ResourceList | None = None,
    sidecar: bool = False,
) -> Container:
    return Container(
        name="c",
        resources=ResourceRequirements(requests=requests or {}, limits=limits or {}),
        restart_policy="Always" if sidecar else None,
    )


@dataclass(frozen=True)
class Case:
    sentence: str
    spec: PodSpec
    wanted: dict[str, int]


CASES = [
    Case("containers add up", PodSpec(containers=[asking({"cpu": 1}), asking({"cpu": "500m"})]), {"cpu": 1500}),
    Case("a limit without request is the request", PodSpec(containers=[asking(limits={"cpu": 2, "nvidia.com/gpu": 1})]), {"cpu": 2000, "nvidia.com/gpu": 1000}),
    Case("a request wins over its limit", PodSpec(containers=[asking({"cpu": 1}, limits={"cpu": 2})]), {"cpu": 1000}),
    Case("the largest init container counts when it is more", PodSpec(containers=[asking({"cpu": 1})], init_containers=[asking({"cpu": 3}), asking({"cpu": 2})]), {"cpu": 3000}),
    Case("sidecars stay beside the containers", PodSpec(containers=[asking({"cpu": 1})], init_containers=[asking({"cpu": 1}, sidecar=True)]), {"cpu": 2000}),
    Case("a step runs beside the sidecars before it only", PodSpec(containers=[asking({"cpu": 1})], init_containers=[asking({"cpu": 4}), asking({"cpu": 1}, sidecar=True), asking({"cpu": 2})]), {"cpu": 4000}),
    Case("the overhead comes on top", PodSpec(containers=[asking({"cpu": 1})], overhead={"cpu": "250m", "memory": "1Ki"}), {"cpu": 1250, "memory": 1024}),
    Case("the pod as a whole stands in place of its containers", PodSpec(containers=[asking({"cpu": 1, "memory": "1Ki"})], resources=ResourceRequirements(requests={"cpu": 4}), overhead={"cpu": 1}), {"cpu": 5000, "memory": 1024}),
    Case("what is no quantity counts as absent", PodSpec(containers=[asking({"cpu": "many", "memory": "1Ki"})]), {"memory": 1024}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_a_pod_asks_for(case: Case) -> None:
    assert pod_requests(case.spec) == case.wanted


def test_a_caller_may_refuse_what_is_no_quantity() -> None:
    with pytest.raises(QuantityError):
        pod_requests(PodSpec(containers=[asking({"cpu": "many"})]), parse_resources)

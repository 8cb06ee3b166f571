"""Pod templates of a vcjob: containers, resources, ports, mounts and labels."""

from typing import Any

import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    job,
    task,
    template,
    world,
)
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import BY_PATH
from vc.model.compat import Compat
from vc.validation.request import ReviewRequest
from vc.validation.world import World


def with_container(**fields: Any) -> Any:
    container = {"name": "main", "image": "busybox", **fields}
    return job(tasks=[task(template={"spec": {"containers": [container]}})])


CASES = (
    Case(says="a pod needs a container", object=job(tasks=[task(template={"spec": {}})]),
         refused="spec.tasks[0].template.spec.containers: a pod needs a container"),
    Case(says="a container needs an image", object=with_container(image=""),
         refused='containers[0].image: "": is required'),
    Case(says="a container's name is a label", object=with_container(name="Main"),
         refused='containers[0].name: "Main": must be a DNS-1123 label'),
    Case(says="quantities can be read", object=with_container(resources={"requests": {"cpu": "two"}}),
         refused="is not a quantity; write one like 500m"),
    Case(says="quantities are not negative",
         object=with_container(resources={"requests": {"cpu": "-1"}}), refused="must not be negative"),
    Case(says="requests fit in limits",
         object=with_container(resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}}),
         refused="is more than the limit 1"),
    Case(says="devices are whole",
         object=with_container(resources={"limits": {"nvidia.com/gpu": "500m"}}),
         refused="must be a whole number"),
    Case(says="a device's request equals its limit",
         object=with_container(resources={"requests": {"nvidia.com/gpu": 1},
                                          "limits": {"nvidia.com/gpu": 2}}),
         refused="must equal the limit 2"),
    Case(says="ports are in range", object=with_container(ports=[{"containerPort": 70000}]),
         refused="must be 1 to 65535"),
    Case(says="mounts name volumes",
         object=with_container(volumeMounts=[{"name": "data", "mountPath": "/d"}]),
         refused="names no volume of this pod"),
    Case(says="restart policies are known", object=job(tasks=[task(template=template(
         restartPolicy="Sometimes"))]), refused="must be one of Always, OnFailure, Never"),
    Case(says="label values are checked", object=job(tasks=[task(template={
         **template(), "metadata": {"labels": {"a": "not a value"}}})]),
         refused="a label value must be a qualified name"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rule(case: Case) -> None:
    assert_answers(ask("/jobs/validate", case.object), case.refused)


def test_upstream_mode_wants_a_limit_for_devices() -> None:
    raw = with_container(resources={"requests": {"nvidia.com/gpu": 1}})
    assert_answers(ask("/jobs/validate", raw, world(compat=Compat.UPSTREAM)), "must be set")
    assert_answers(ask("/jobs/validate", raw), "")


@pytest.mark.parametrize("limits", ["x", ["x"], 7, {"nvidia.com/gpu": []}, True])
@pytest.mark.parametrize("path", ["/jobs/mutate", "/jobs/validate"])
def test_odd_limits_are_refused_with_a_sentence(path: str, limits: object) -> None:
    """They were an answer of 500."""
    resources = {"requests": {"nvidia.com/gpu": 1}, "limits": limits}
    container = {"name": "c", "image": "i", "resources": resources}
    template = {"spec": {"containers": [container]}}
    obj = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "odd"},
        "spec": {"minAvailable": 1, "tasks": [{"name": "w", "replicas": 1, "template": template}]},
    }
    request = ReviewRequest(uid="u", operation="CREATE", namespace="default", object=obj)
    reviewed = review(request, World(), endpoint=BY_PATH[path])
    assert reviewed.fault == ""
    if path == "/jobs/validate":
        assert not reviewed.allowed
        assert "limits" in reviewed.message

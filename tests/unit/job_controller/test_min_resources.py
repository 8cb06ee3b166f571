"""minResources of the PodGroup: what the gang needs, counted as a ResourceQuota counts."""

import msgspec

from tests.unit.job_controller.builders import (
    NOW,
    group_spec,
    job,
    observed,
    task,
    written_status,
)
from vc.job_controller.logic import decide
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import PriorityClass


def test_requests_default_from_limits_and_count_as_a_quota_does() -> None:
    limits = {"limits": {"memory": "1Gi", "example.com/gpu": "2"}, "requests": {"memory": "512Mi"}}
    template = {"spec": {"containers": [{"name": "c", "resources": limits}]}}
    spec = group_spec(job("", tasks=[msgspec.structs.replace(task(replicas=1), template=template)]))
    assert spec["minResources"] == {
        "count/pods": "1",
        "example.com/gpu": "2",
        "limits.memory": "1Gi",
        "memory": "512Mi",
        "pods": "1",
        "requests.example.com/gpu": "2",
        "requests.memory": "512Mi",
    }


def test_a_small_gang_counts_its_most_important_pods() -> None:
    def of_priority(name: str, cpu: str, priority: str) -> object:
        containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
        template = {"spec": {"containers": containers, "priorityClassName": priority}}
        return msgspec.structs.replace(task(name, 2), template=template)

    tasks = [of_priority("a", "1", "low"), of_priority("b", "10", "high")]
    classes = {
        "low": PriorityClass(metadata=ObjectMeta(name="low"), value=1),
        "high": PriorityClass(metadata=ObjectMeta(name="high"), value=9),
    }
    of = job("", tasks=tasks, min_available=3)  # type: ignore[arg-type]
    assert group_spec(of, priorities=classes)["minResources"]["cpu"] == "21"


def test_an_invalid_quantity_is_a_blocker() -> None:
    template = {"spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}}
    of = job("", tasks=[msgspec.structs.replace(task(), template=template)])
    state = written_status(of, decide(observed(of), now=NOW)).state
    assert state.reason == "InvalidResources"
    assert "much" in state.message

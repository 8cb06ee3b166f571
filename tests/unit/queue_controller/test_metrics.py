"""Queues in metrics: Volcano's names, and nothing of queues that are gone."""

from prometheus_client import CollectorRegistry, generate_latest

from tests.builders.contexts import memory_context
from vc.model.api.meta import ObjectMeta
from vc.model.api.scheduling import PodGroup, PodGroupSpec, PodGroupStatus, Queue, QueueStatus
from vc.queue_controller.metrics import QueueMetrics


def queue(name: str, state: str = "Open") -> Queue:
    return Queue(metadata=ObjectMeta(name=name), status=QueueStatus(state=state))


def group(name: str, queue_name: str, phase: str) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name),
        spec=PodGroupSpec(queue=queue_name),
        status=PodGroupStatus(phase=phase),
    )


def metrics() -> tuple[QueueMetrics, CollectorRegistry]:
    context = memory_context("queue-controller")
    return QueueMetrics(context), context.metrics


def lines(registry: CollectorRegistry) -> set[str]:
    page = generate_latest(registry).decode()
    return {line for line in page.splitlines() if not line.startswith("#")}


def test_pod_groups_are_counted_per_queue_and_phase() -> None:
    made, registry = metrics()
    groups = [group("a", "q", "Running"), group("b", "q", "Running"), group("c", "q", "Inqueue")]
    made.show([queue("q"), queue("r", "Closing")], groups)
    shown = lines(registry)
    assert 'volcano_queue_pod_group_running_count{queue_name="q"} 2.0' in shown
    assert 'volcano_queue_pod_group_inqueue_count{queue_name="q"} 1.0' in shown
    assert 'volcano_queue_pod_group_pending_count{queue_name="r"} 0.0' in shown
    assert 'pyroclast_queues{state="Closing"} 1.0' in shown


def test_a_queue_that_is_gone_has_no_series_and_a_standby_none_at_all() -> None:
    made, registry = metrics()
    made.show([queue("q"), queue("r")], [group("a", "q", "Running")])
    made.show([queue("r")], [group("a", "q", "Running")])
    assert not any('"q"' in line for line in lines(registry))
    made.clear()
    assert lines(registry) == set()

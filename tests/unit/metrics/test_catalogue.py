"""Volcano's names are there as Volcano has them, and docs/metrics.md lists exactly what there is."""

from pathlib import Path
from typing import Final

import pytest

from tests.unit.metrics.exported import exported, rows

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "metrics.md"
QUEUE: Final = ("queue_name",)
JOB: Final = ("job_name", "queue", "job_namespace")
HISTOGRAM, GAUGE, COUNTER = "histogram", "gauge", "counter"

VOLCANO: Final = {
    "e2e_scheduling_latency_milliseconds": (HISTOGRAM, ()),
    "open_session_duration_milliseconds": (HISTOGRAM, ()),
    "e2e_job_scheduling_latency_milliseconds": (HISTOGRAM, ()),
    "plugin_scheduling_latency_milliseconds": (HISTOGRAM, ("plugin", "OnSession")),
    "action_scheduling_latency_milliseconds": (HISTOGRAM, ("action",)),
    "task_scheduling_latency_milliseconds": (HISTOGRAM, ("stage",)),
    "scheduling_stage_duration_milliseconds": (HISTOGRAM, ("stage",)),
    "e2e_job_scheduling_duration": (GAUGE, JOB),
    "e2e_job_scheduling_start_time": (GAUGE, JOB),
    "e2e_job_scheduling_last_time": (GAUGE, JOB),
    "pod_preemption_victims": (GAUGE, ()),
    "unschedule_task_count": (GAUGE, ("job_id",)),
    "unschedule_job_count": (GAUGE, ()),
    "goroutines": (GAUGE, ("operation",)),
    "job_share": (GAUGE, ("job_ns", "job_id")),
    "namespace_share": (GAUGE, ("namespace_name",)),
    "namespace_weight": (GAUGE, ("namespace_name",)),
    "namespace_weighted_share": (GAUGE, ("namespace_name",)),
    **{
        f"queue_{which}_{unit}": (GAUGE, labels)
        for which in ("allocated", "request", "deserved", "capacity", "real_capacity")
        for unit, labels in (
            ("milli_cpu", QUEUE),
            ("memory_bytes", QUEUE),
            ("scalar_resources", (*QUEUE, "resource")),
        )
    },
    **{
        f"queue_pod_group_{phase}_count": (GAUGE, QUEUE)
        for phase in ("pending", "inqueue", "running", "unknown", "completed")
    },
    "queue_share": (GAUGE, QUEUE),
    "queue_weight": (GAUGE, QUEUE),
    "queue_overused": (GAUGE, QUEUE),
    "schedule_attempts_total": (COUNTER, ("result",)),
    # Counters whose names do not end in _total.
    "total_preemption_attempts": (COUNTER, ()),
    "job_retry_counts": (COUNTER, ("job_id",)),
    # Counters at Volcano: gauges here that only count up, until the job is deleted.
    "job_completed_phase_count": (GAUGE, ("job_name", "queue_name")),
    "job_failed_phase_count": (GAUGE, ("job_name", "queue_name")),
    "controller_job_to_pod_creation_latency_milliseconds": (HISTOGRAM, ()),
}


@pytest.mark.parametrize("name", VOLCANO)
def test_a_meter_of_volcano_is_exported_with_its_labels(name: str) -> None:
    metric = exported()[f"volcano_{name}"]
    assert (metric.type, metric.labels) == VOLCANO[name]


def test_the_document_lists_exactly_what_there_is() -> None:
    """`python -m tests.unit.metrics.exported` prints the rows."""
    listed = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    assert listed == rows()

"""Durations of sessions and their parts, of placing pods, and of the binds of gangs."""

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Histogram

from vc.runtime.metrics.batch_histogram import BatchHistogram
from vc.scheduling.framework.stopwatch import ACTION, PREDICATE, SCORING

MILLISECONDS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class DurationMetrics:
    """Durations in milliseconds, as in Volcano."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, what: str, *labels: str) -> Histogram:
            return Histogram(name, what, labels, buckets=MILLISECONDS, registry=registry)

        self._session = histogram(
            "volcano_e2e_scheduling_latency_milliseconds",
            "One session, from its snapshot to its decisions.",
        )
        self._open = histogram(
            "volcano_open_session_duration_milliseconds",
            "What happens before a session decides: counting what changed, and the snapshot.",
        )
        self._action = histogram(
            "volcano_action_scheduling_latency_milliseconds", "One action of one session.", "action"
        )
        self._plugin = histogram(
            "volcano_plugin_scheduling_latency_milliseconds",
            "One plugin at one extension point (predicate, scoring), over one session.",
            "plugin",
            "OnSession",
        )
        self._stage = histogram(
            "volcano_scheduling_stage_duration_milliseconds",
            "All predicates or all scoring of one session, or the binds of one gang.",
            "stage",
        )
        self._task = BatchHistogram(
            "volcano_task_scheduling_latency_milliseconds",
            "Per pod: from the opening of its session until it is assumed, or its bind acknowledged.",
            ("stage",),
            buckets=MILLISECONDS,
            registry=registry,
        )

    def opened(self, seconds: float) -> None:
        """Record that a snapshot was made."""
        self._open.observe(seconds * 1000)

    def session(self, took_seconds: float, parts: Mapping[tuple[str, str], float]) -> None:
        """Record a session; `parts` are its actions, and its plugins by extension point."""
        self._session.observe(took_seconds * 1000)
        stages: dict[str, float] = {}
        for (what, name), seconds in parts.items():
            if what == ACTION:
                self._action.labels(name).observe(seconds * 1000)
            else:
                self._plugin.labels(name, what).observe(seconds * 1000)
                stages[what] = stages.get(what, 0.0) + seconds
        # Sessions without placements have no such stage, and zeros would distort the histogram.
        for stage in (PREDICATE, SCORING):
            if stage in stages:
                self._stage.labels(stage).observe(stages[stage] * 1000)

    def assumed(self, pods: int, *, after_seconds: float) -> None:
        """Record that pods of a gang are assumed."""
        self._task.observe(after_seconds * 1000, "assumed", times=pods)

    def bound(self, pods: int, *, after_seconds: float, took_seconds: float) -> None:
        """Record that all binds of a gang were acknowledged."""
        self._task.observe(after_seconds * 1000, "bound", times=pods)
        self._stage.labels("bind").observe(took_seconds * 1000)

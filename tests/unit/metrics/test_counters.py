"""Counters under Volcano's names: what a scraper reads, and that they never go back while a job lives."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from vc.messages.sessions import JobReason, Reason, Stage
from vc.runtime.hosting.host import LOOP_LAG_SAMPLES, Host
from vc.runtime.metrics.shown_counters import ShownCounter
from vc.scheduler.metrics.sessions import RETRIES_MIN, EvictionMetrics, JobRetries, PendingMetrics
from vc.scheduling.model.decisions import Decisions, Eviction

RETRIES = "volcano_job_retry_counts"


def page(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


def retries(registry: CollectorRegistry) -> dict[str, float]:
    (family,) = [
        found for found in text_string_to_metric_families(page(registry)) if found.name == RETRIES
    ]
    assert family.type == "counter"
    return {sample.labels["job_id"]: sample.value for sample in family.samples}


def test_a_counter_has_exactly_the_name_that_gos_client_gives_it() -> None:
    registry = CollectorRegistry()
    metrics = EvictionMetrics(registry)
    name = "volcano_total_preemption_attempts"
    lines = [line for line in page(registry).splitlines() if name in line]
    assert lines == [
        f"# HELP {name} Jobs for which pods were evicted.",
        f"# TYPE {name} counter",
        f"{name} 0.0",
    ]
    eviction = Eviction(group="a", uid="", pods=())
    metrics.session(decided(evictions=(eviction, eviction)))
    assert f"\n{name} 2.0\n" in page(registry)


def test_a_counter_may_have_labels_and_a_neighbour_that_ends_in_total() -> None:
    registry = CollectorRegistry()
    counter = ShownCounter("a_count", "A.", ("job",), registry=registry)
    PendingMetrics(registry, exists=lambda _: True)
    counter.show({("x",): 3.0})
    assert '# TYPE a_count counter\na_count{job="x"} 3.0\n' in page(registry)
    assert "# TYPE volcano_schedule_attempts_total counter" in page(registry)


def decided(*waiting: str, evictions: tuple[Eviction, ...] = ()) -> Decisions:
    reason = Reason(stage=Stage.GANG, code="x", sentence="s")
    reasons = tuple(
        JobReason(group=group, uid="", queue="q", position=1, reason=reason) for group in waiting
    )
    return Decisions(
        session_id="1-1", nodes=1, groups=1, enqueued=(), binds=(), releases=(), evictions=evictions,
        withdrawals=(), statuses=(), reasons=reasons, queues=(), wake_at=None,
    )  # fmt: skip


def test_a_jobs_retries_stay_while_it_lives_and_go_when_it_goes() -> None:
    registry, alive = CollectorRegistry(), {"ml/a", "ml/b"}
    metrics = PendingMetrics(registry, exists=alive.__contains__)
    metrics.session(decided("ml/a", "ml/b"))
    metrics.session(decided("ml/a"))
    metrics.session(decided())
    assert retries(registry) == {"ml/a": 2, "ml/b": 1}, "running now, and alive"
    metrics.session(decided("ml/b"))
    assert retries(registry) == {"ml/a": 2, "ml/b": 2}
    alive.discard("ml/a")
    assert retries(registry) == {"ml/b": 2}


def test_retries_are_bounded_without_scrapes() -> None:
    counted = JobRetries(CollectorRegistry(), exists=lambda _: False)
    for number in range(10 * RETRIES_MIN):
        counted.count([f"job-{number}"])
        assert len(counted._counts) <= RETRIES_MIN + 1


def test_the_loops_worst_moment_is_seen_for_a_minute() -> None:
    host = Host({})
    (registry,) = host.registries()

    def lag() -> float | None:
        return registry.get_sample_value("pyroclast_event_loop_lag_seconds")

    host._loop_lags.append(0.7)
    for _ in range(LOOP_LAG_SAMPLES - 1):
        host._loop_lags.append(0.001)
        assert lag() == 0.7
    host._loop_lags.append(0.002)
    assert lag() == 0.002

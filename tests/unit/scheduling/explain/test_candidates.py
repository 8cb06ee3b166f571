"""Single remedies that are tried for a waiting job: from the smallest on, and only what can help it."""

from tests.unit.scheduling.explain.builders import (
    budget,
    candidates,
    group,
    node,
    pods,
    priority_class,
    queue,
    quota,
)
from vc.messages.sessions import Unblock
from vc.scheduling.conf.model import Conf
from vc.scheduling.explain.candidates import NEW_CLASS, NODES_TIMES, PLENTY, PRIORITY_MAX

CLASSES = [priority_class("low", 1), priority_class("middle", 5), priority_class("high", 9)]


def raised(found: list[Unblock]) -> list[tuple[str, int]]:
    return [(one.target, one.priority) for one in found]


def test_priority_is_raised_to_the_next_class_first() -> None:
    found = list(candidates(group("a", 1, priority="low"), CLASSES).priority())
    assert raised(found) == [("middle", 5), ("high", 9), (NEW_CLASS, 10)]


def test_a_job_without_a_class_has_the_global_default() -> None:
    default = priority_class("usual", 6, default=True)
    found = list(candidates(group("a", 1), CLASSES, default).priority())
    assert raised(found) == [("high", 9), (NEW_CLASS, 10)]


def test_classes_of_the_system_are_not_proposed() -> None:
    system = priority_class("system-node-critical", PRIORITY_MAX * 2)
    found = list(candidates(group("a", 1, priority="high"), CLASSES, system).priority())
    assert raised(found) == [(NEW_CLASS, 10)]


def test_above_the_highest_class_there_is_no_priority() -> None:
    top = priority_class("top", PRIORITY_MAX)
    assert list(candidates(group("a", 1, priority="top"), top).priority()) == []


def test_the_smallest_reduction_of_a_gang_comes_first() -> None:
    found = [u for u in candidates(group("a", 9), pods("a", 9)).smaller() if not u.amounts]
    assert [one.pods for one in found] == [8, 4, 1]


def test_requests_of_each_task_are_divided() -> None:
    job = candidates(group("a", 1), pods("a", 1, "4"), pods("a", 1, "2", task="ps"))
    first = next(u for u in job.smaller() if u.action == "shrink-request")
    parts = {part.target: part.amounts for part in (first, *first.also)}
    assert parts == {"ps": {"cpu": 1000}, "worker": {"cpu": 2000}}


def test_jobs_of_the_same_queue_end_first_then_the_smallest() -> None:
    job = candidates(
        group("a", 1),
        pods("a", 1, on="n"),
        group("far", 1, queue="other"),
        pods("far", 1, on="n"),
        group("large", 2),
        pods("large", 2, on="n"),
        group("small", 1),
        pods("small", 1, on="n"),
        group("waits", 1),
        pods("waits", 1),
    )
    alone = [one.jobs for one in job.ended() if len(one.jobs) == 1]
    assert alone == [["ns/small"], ["ns/large"], ["ns/far"]]
    *_, last = job.ended()
    assert last.jobs == ["ns/far", "ns/large", "ns/small"]


def test_only_queues_with_pods_are_opened_to_reclaim() -> None:
    given = (
        group("a", 1),
        queue("full", reclaimable=False),
        queue("empty", reclaimable=False),
        queue("gives"),
        group("runs", 1, queue="full"),
        pods("runs", 1, on="n"),
        group("too", 1, queue="gives"),
        pods("too", 1, on="n"),
    )
    assert [one.target for one in candidates(*given).reclaim()] == ["full"]
    without = Conf(actions=("enqueue", "allocate"))
    assert list(candidates(*given, conf=without).reclaim()) == []


def test_budgets_are_lifted_one_at_a_time_then_all() -> None:
    found = candidates(group("a", 1), budget("x"), budget("y")).budgets()
    assert [one.target for one in found] == ["ns/x", "ns/y", "ns/x,ns/y"]
    assert [one.target for one in candidates(group("a", 1), budget("x")).budgets()] == ["ns/x"]


def test_limits_of_the_queue_its_ancestors_and_the_namespace_are_removed() -> None:
    job = candidates(
        group("a", 1, queue="leaf"),
        queue("leaf", parent="dept", capability={"cpu": "1"}),
        queue("dept", parent="root", capability={"memory": "1Gi"}),
        queue("root"),
        queue("other", capability={"cpu": "1"}),
        quota("mine", "ns", "1"),
        quota("not-mine", "elsewhere", "1"),
    )
    (found,) = job.limits()
    parts = {part.target: part.amounts for part in (found, *found.also)}
    assert parts == {
        "leaf": {"cpu": PLENTY},
        "dept": {"memory": PLENTY},
        "ns/mine": {"requests.cpu": PLENTY},
    }


def test_parents_in_a_circle_end_the_ancestors() -> None:
    one = queue("one", parent="two", capability={"cpu": "1"})
    two = queue("two", parent="one", capability={"cpu": "1"})
    (found,) = candidates(group("a", 1, queue="one"), one, two).limits()
    assert [part.target for part in (found, *found.also)] == ["one", "two"]


def test_weights_of_the_queue_and_its_ancestors_are_raised_together() -> None:
    job = candidates(
        group("a", 1, queue="leaf", resources={"cpu": "3"}),
        queue("leaf", parent="dept", weight=2),
        queue("dept", weight=3),
    )
    first, *_, last = job.shares()
    assert [(part.target, part.weight) for part in (first, *first.also)] == [
        ("leaf", 4),
        ("dept", 6),
    ]
    assert last.action == "raise-deserved"
    assert last.amounts == {"cpu": 3000}


def test_nodes_are_added_for_the_job_then_for_all_that_wait() -> None:
    job = candidates(
        group("a", 2),
        pods("a", 2, "2", selector={"zone": "b"}),
        group("other", 1),
        pods("other", 1, "3"),
        node("n", 1),
    )
    own, *_ = found = list(job.nodes())
    assert own.where is not None
    assert own.where.labels == {"zone": "b"}
    assert own.amounts == {"cpu": 2000, "pods": 1000}
    assert [one.pods for one in found[: len(NODES_TIMES)]] == [2 * n for n in NODES_TIMES]
    for_all = found[len(NODES_TIMES)]
    assert sorted(part.pods for part in (for_all, *for_all.also)) == [1, 2]

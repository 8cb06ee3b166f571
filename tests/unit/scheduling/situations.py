"""Situations in each of which only one registered wake-up opens the session in time (`test_timers.py`)."""

from collections.abc import Callable
from typing import Final

import msgspec

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.actions.test_scheduling_gates import at_gate
from tests.unit.scheduling.closing.test_pod_conditions import fresh_gang
from tests.unit.scheduling.eviction.test_preemption_attempts import MANY, halves, kept
from tests.unit.scheduling.life import Life
from tests.unit.scheduling.objects import EPOCH, gang, group, node, nodes, pod, queue
from tests.unit.scheduling.plugins.test_cdp import WITH_CDP, protected
from tests.unit.scheduling.plugins.test_sla import conf as with_sla
from tests.unit.scheduling.plugins.test_sla import waiting
from tests.unit.scheduling.session.test_volumes import using
from tests.unit.scheduling.storage import claim, storage_class
from vc.model.api.meta import ApiObject
from vc.scheduling.actions.inqueue_timeout import INQUEUE_SECONDS
from vc.scheduling.cache.overlays.enqueued import CLAIM_SECONDS
from vc.scheduling.cache.overlays.evictions import NOMINATION_SECONDS
from vc.scheduling.plugins.queue_shares.recoverable import UNBACKED_SECONDS


def refusing(*first: str) -> Callable[[str], bool]:
    """The API server refuses each of these once for each time it is named."""
    left = list(first)

    def refuses(write: str) -> bool:
        if write in left:
            left.remove(write)
            return True
        return False

    return refuses


NOTHING: Final = refusing()


def a_bind_is_refused() -> None:
    Life(queue(), nodes(1), gang("g", 1, cpu=1), refuses=refusing("bind g-worker-0")).rest(wakes=2)


def a_victim_is_refused_and_there_is_no_other() -> None:
    Life(
        queue(), CLASSES, nodes(1, cpu=4), running("a", 1), asking(), refuses=refusing("evict a-0")
    ).rest(wakes=5)


def a_victim_is_refused_and_there_is_another() -> None:
    Life(
        queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(), refuses=refusing("evict a-1")
    ).rest(wakes=2)


def an_evicting_job_needs_more_after_its_cooldown() -> None:
    """One victim leaves, and its capacity is gone: its node is cordoned."""
    life = Life(
        queue(), CLASSES, nodes(2, cpu=4), running("a", 1), running("b", 1, on="node-02"), asking()
    )
    life.rest()
    (gone,) = [p.spec.node_name for p in life.pods() if p.metadata.deletion_timestamp]
    life.now += 0.5
    life.put(node(gone, cpu=4, unschedulable=True))
    life.rest(wakes=4)


def victims_do_not_leave() -> None:
    life = Life(queue(), CLASSES, nodes(1, cpu=4), running("a", 1), asking())
    life.rest(wakes=6)
    assert life.now >= EPOCH + NOMINATION_SECONDS


def an_eviction_lets_others_in() -> None:
    """Of its queue's capability `p` and the victim take all; when the victim no longer counts, `new` fits."""
    life = Life(
        queue(capability={"cpu": "8"}), CLASSES, nodes(1, cpu=8), running("a", 2), asking(),
        pending("new", cpu="4"),
    )  # fmt: skip
    life.rest(wakes=3)


def a_reservation_is_taken_over_and_there_are_other_victims() -> None:
    life = Life(
        queue(), CLASSES, nodes(1, cpu=8), running("a", 2), asking(cpu=8, job_class="middle")
    )
    life.rest(wakes=1)
    life.now += 0.5
    life.put(
        node("node-02", cpu=8),
        *running("b", 2, on="node-02"),
        *gang("h", 1, cpu=8, priority_class="high"),
    )
    life.rest(wakes=2)


def half_bound(*, refuses: Callable[[str], bool] = NOTHING) -> Life:
    bound = pod("half-worker-0", group="half", role="worker", requests={"cpu": "40"}, on="node-01")
    return Life(nodes(1), queue(), gang("half", 2, cpu=40), [bound], refuses=refuses)


def a_half_bound_gang_cannot_be_completed() -> None:
    half_bound().rest(wakes=4)


def a_half_bound_gang_is_not_released() -> None:
    half_bound(refuses=refusing("release ns/half")).rest(wakes=6)


def a_waiting_time_of_sla_ends() -> None:
    Life(
        queue(), nodes(1, cpu=1), waiting("large", age=0, annotation="2h", cpu=9), conf=with_sla()
    ).rest(wakes=3)


def a_cooldown_ends() -> None:
    victims = protected(running("v", 2), on="annotations")
    Life(queue(), CLASSES, [node("node-01", cpu=8)], victims, asking(), conf=WITH_CDP).rest(wakes=3)


def surplus_waits_for_minimums() -> None:
    Life(
        queue(), nodes(1, cpu=8), gang("g", 4, minimum=2, cpu=1), surplus_delay="30s"
    ).rest(wakes=3)  # fmt: skip


def more_gates_than_a_session_lifts() -> None:
    Life(nodes(1, cpu=2), queue(), *[at_gate(f"j{n}", 30) for n in range(5)]).rest(wakes=3)


def a_gate_is_not_lifted() -> None:
    Life(nodes(1, cpu=2), queue(), at_gate("g"), refuses=refusing("lift g-0")).rest(wakes=3)


def more_contenders_than_a_session_tries() -> None:
    """Whom a session tries depends on its number: the one that can be helped has its turn in the end."""
    life = Life(
        queue(), CLASSES, nodes(1, cpu=100), kept(92), running("a", 2),
        *[halves(f"large{n:02}", 5000 + n) for n in range(MANY)], asking(),
    )  # fmt: skip
    life.run_until_idle()
    while not any(p.metadata.deletion_timestamp for p in life.pods()):
        assert life.wake_at is not None, "no wake-up for preemptors without an attempt"
        life.now, life.wanted = life.wake_at, True
        life.run_until_idle()


def pods_begin_to_wait() -> None:
    Life(nodes(1), queue(), fresh_gang()).rest(wakes=3)


def a_condition_is_not_written() -> None:
    Life(nodes(1), queue(), fresh_gang(), refuses=refusing("condition g-3")).rest(wakes=4)


def pods_wait_for_another_reason() -> None:
    life = Life(nodes(1), queue(), fresh_gang())
    life.rest(wakes=3)
    life.now += 20
    life.put(node("node-01", unschedulable=True))
    life.rest(wakes=3)


def numbers_of_a_waiting_gang_change() -> None:
    life = Life(nodes(1), queue(), fresh_gang())
    life.rest(wakes=1)
    life.now += 0.5
    life.put(node("node-02"))
    life.rest(wakes=3)


def pods_of_a_gang_are_missing() -> None:
    life = Life(nodes(1), queue(), pending("g", cpu="1"))
    life.rest(wakes=4)


def too_large(*, alone: bool) -> Life:
    """`huge` is enqueued, because the cluster has enough together, and fits on no node."""
    huge = gang("huge", 1, phase="Pending", age=9, min_resources={"cpu": "10"}, cpu=10)
    small = gang("small", 1, phase="Pending", min_resources={"cpu": "4"}, cpu=4)
    return Life(
        queue(capability={"cpu": "12"}), nodes(3, cpu=8), huge, [] if alone else small
    )  # fmt: skip


def a_group_is_let_in_and_fits_nowhere() -> None:
    too_large(alone=False).rest(wakes=4)


def a_group_is_let_in_fits_nowhere_and_others_come() -> None:
    life = too_large(alone=True)
    life.rest(wakes=3)
    life.now += 20
    life.put(*gang("other", 1, cpu=1))
    life.rest(wakes=2)


def a_group_that_went_back_rests() -> None:
    life = too_large(alone=True)
    while life.now < EPOCH + INQUEUE_SECONDS:
        life.rest(wakes=1)
    life.rest(wakes=4)


def a_group_that_went_back_rests_and_others_come() -> None:
    life = too_large(alone=True)
    while life.now < EPOCH + INQUEUE_SECONDS:
        life.rest(wakes=1)
    life.rest(wakes=1)
    life.now += 20
    life.put(*gang("other", 1, cpu=1))
    life.rest(wakes=4)


def a_group_is_let_in_and_its_queue_is_closed() -> None:
    """Its enqueued resources keep `other` Pending until its claim ends; it does not return to Pending."""
    life = Life(
        queue(), queue("shut"), nodes(1, cpu=8),
        group("g", minimum=1, queue="shut", phase="", min_resources={"cpu": "8"}),
    )  # fmt: skip
    life.rest(wakes=1)
    life.now += 20
    life.put(
        queue("shut", state="Closed"),
        *gang("other", 1, phase="Pending", min_resources={"cpu": "8"}, cpu=8),
    )
    life.rest(wakes=6)
    assert life.bound("other") == 1
    assert life.now >= EPOCH + CLAIM_SECONDS


def another_namespace_waits_for_a_group_without_pods(*, comes_later: bool) -> None:
    """`g` is enqueued and gets no pods: after a minute its claim holds back no group of another namespace."""
    other = in_namespace("other", pending("waits", cpu="8"))
    life = Life(queue(), nodes(1, cpu=8), pending("g", cpu="8"), [] if comes_later else other)
    life.rest()
    if comes_later:
        life.now += 20
        life.put(other)
    while life.now < EPOCH + UNBACKED_SECONDS:
        life.rest(wakes=1)
    assert life.cache.snapshot("after", now=life.now).all_groups[other.key].enqueued_at == life.now


def a_group_without_pods_keeps_a_later_one_waiting() -> None:
    another_namespace_waits_for_a_group_without_pods(comes_later=True)


def a_group_without_pods_is_enqueued_before_another() -> None:
    another_namespace_waits_for_a_group_without_pods(comes_later=False)


def with_claim(
    *more: ApiObject, given_to: str = "", refuses: Callable[[str], bool] = NOTHING
) -> Life:
    return Life(
        queue(),
        [node("a1", cpu=2, labels={"host": "a1"})],
        [claim("c", node=given_to), storage_class(waits=True)],
        [group("g", minimum=1), using("p", "c"), *more],
        refuses=refuses,
    )


def a_claim_is_not_taken() -> None:
    with_claim(refuses=refusing("claim ns/c")).rest(wakes=2)


def a_claim_is_never_bound() -> None:
    with_claim(*gang("other", 1, cpu=2), given_to="a1").rest(wakes=4)


def pending(name: str, *, cpu: str) -> ApiObject:
    """Not enqueued yet, and without pods."""
    return group(name, minimum=1, phase="", min_resources={"cpu": cpu})


def in_namespace(namespace: str, obj: ApiObject) -> ApiObject:
    metadata = msgspec.structs.replace(obj.metadata, namespace=namespace)
    return msgspec.structs.replace(obj, metadata=metadata)


SITUATIONS: Final[tuple[Callable[[], None], ...]] = (
    a_bind_is_refused,
    a_victim_is_refused_and_there_is_no_other,
    a_victim_is_refused_and_there_is_another,
    an_evicting_job_needs_more_after_its_cooldown,
    victims_do_not_leave,
    an_eviction_lets_others_in,
    a_reservation_is_taken_over_and_there_are_other_victims,
    a_half_bound_gang_cannot_be_completed,
    a_half_bound_gang_is_not_released,
    a_waiting_time_of_sla_ends,
    a_cooldown_ends,
    surplus_waits_for_minimums,
    more_gates_than_a_session_lifts,
    a_gate_is_not_lifted,
    pods_begin_to_wait,
    a_condition_is_not_written,
    pods_wait_for_another_reason,
    numbers_of_a_waiting_gang_change,
    pods_of_a_gang_are_missing,
    a_group_is_let_in_and_fits_nowhere,
    a_group_is_let_in_fits_nowhere_and_others_come,
    a_group_that_went_back_rests,
    a_group_is_let_in_and_its_queue_is_closed,
    a_group_that_went_back_rests_and_others_come,
    a_group_without_pods_keeps_a_later_one_waiting,
    a_group_without_pods_is_enqueued_before_another,
    a_claim_is_not_taken,
    a_claim_is_never_bound,
    more_contenders_than_a_session_tries,
)

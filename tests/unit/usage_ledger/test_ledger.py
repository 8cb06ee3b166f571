"""Open hours: what a deletion, a rebuilt view, a closed hour and a stored state do to accounts."""

from tests.unit.usage_ledger.test_pod_account import BOUND, account, pod
from vc.messages.usage import HOUR_SECONDS
from vc.model.api import keys
from vc.usage_ledger.logic.ledger import CLOSE_AFTER_SECONDS, FRESH_SECONDS, UsageLedger, hour_of
from vc.usage_ledger.logic.pod_account import EndSource

HOUR = hour_of(BOUND)


def ledger() -> UsageLedger:
    made = UsageLedger(scheduler_names=("volcano",))
    made.view_is_complete(now=BOUND)
    return made


def test_a_pod_that_disappears_under_a_fresh_view_ended_just_now() -> None:
    made = ledger()
    made.observe(pod(), now=BOUND + 1)
    made.view_is_complete(now=BOUND + 100)
    made.observe_deleted("u", now=BOUND + 100 + FRESH_SECONDS)
    ended = made.accounts["u"]
    assert (ended.end, ended.end_source) == (BOUND + 100 + FRESH_SECONDS, EndSource.MISSED)


def test_after_a_silence_it_ended_when_it_was_last_observed() -> None:
    made = ledger()
    made.observe(pod(), now=BOUND + 1)
    made.view_is_complete(now=BOUND + 100)
    made.observe_deleted("u", now=BOUND + 100 + FRESH_SECONDS + 1)
    assert made.accounts["u"].end == BOUND + 100
    assert made.accounts["u"].end_source is EndSource.LAST_SEEN


def test_a_pod_that_a_rebuilt_view_does_not_show_ended_unobserved() -> None:
    made = ledger()
    made.observe(pod(), now=BOUND + 1)
    made.view_is_complete(now=BOUND + 50)
    made.begin_rebuild()
    assert made.accounts["u"].end is None, "half of a view proves nothing"
    made.view_is_complete(now=BOUND + 300)
    assert made.accounts["u"].end == BOUND + 50


def test_a_log_that_is_read_again_does_not_end_a_running_pod() -> None:
    made = ledger()
    made.observe(pod(), now=BOUND + 1)
    made.begin_rebuild()
    made.observe_deleted("u", now=BOUND + 60)
    made.observe(pod(), now=BOUND + 60)
    made.view_is_complete(now=BOUND + 60)
    assert made.accounts["u"].end is None


def test_an_hour_is_closed_two_minutes_after_its_end_and_once() -> None:
    made = ledger()
    made.start_if_new(now=BOUND)
    over = HOUR + HOUR_SECONDS
    assert made.closable(now=over + CLOSE_AFTER_SECONDS - 1) is None
    assert made.closable(now=over + CLOSE_AFTER_SECONDS) == HOUR
    made.observe(pod(phase="Succeeded", finished=60), now=BOUND + 61)
    made.close_until(over)
    assert made.accounts == {}, "all of it is in the closed hour"
    made.close_until(HOUR)
    assert made.closed_until == over, "a late predecessor opens no hour again"
    made.observe(pod(phase="Succeeded", finished=60), now=over)
    assert made.accounts == {}


def test_only_deleted_pods_need_to_be_stored_and_a_successor_joins_them() -> None:
    made = ledger()
    made.start_if_new(now=BOUND)
    made.observe(pod(), now=BOUND + 1)
    assert made.state(gone_only=True).accounts == []
    made.view_is_complete(now=BOUND + 9)
    made.observe_deleted("u", now=BOUND + 10)
    stored = made.state(gone_only=True)
    successor = ledger()
    successor.adopt(stored)
    successor.adopt(stored)
    assert successor.accounts == made.accounts


def test_a_stored_account_without_an_end_and_without_its_pod_ended_unobserved() -> None:
    successor = ledger()
    successor.absorb([account(pod())], seen_at=BOUND + 30)
    assert successor.accounts["u"].end == BOUND + 30
    assert successor.accounts["u"].end_source is EndSource.LAST_SEEN


def test_the_first_queue_is_kept_and_labels_that_differ_are_counted() -> None:
    made = ledger()
    made.observe(pod(labels={keys.QUEUE_NAME: "expensive"}), now=BOUND + 1)
    made.name_queue("u", "team")
    made.name_queue("u", "other")
    assert made.accounts["u"].queue == "team"
    assert made.labels_ignored == {"queue": 1}
    assert made.unnamed() == []


def test_an_observation_that_changes_nothing_causes_no_write() -> None:
    made = ledger()
    made.observe(pod(), now=BOUND + 1)
    changes = made.changes
    made.observe(pod(), now=BOUND + 2)
    assert made.changes == changes

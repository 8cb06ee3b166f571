"""Accounts added up by hour, queue, namespace and job, in exact integers."""

from collections.abc import Iterable, Mapping
from typing import Final

from vc_messages.usage import HOUR_SECONDS, UsageKey, UsageRow
from vc_model.keys import DEFAULT_QUEUE
from vc_queue_controller.logic.ledger_accounts import Account, Asked

Held = dict[str, int]
Rows = dict[UsageKey, Held]

SMALL_JOBS: Final = ""
"""The job of a row that holds all small jobs of its queue and namespace."""


def rows_of_hour(accounts: Iterable[Account], *, hour: int, now: float) -> Rows:
    """What was held in the hour that began at `hour`, as far as `now`.

    Pods of a job ask for the same, so seconds are added up first and multiplied once.
    """
    begin, end = hour, min(hour + HOUR_SECONDS, int(now))
    seconds: dict[tuple[str, str, str, Asked], int] = {}
    for account in accounts:
        until = end if account.end is None else min(account.end, end)
        lasted = until - max(account.start, begin)
        if lasted > 0:
            key = (account.queue or DEFAULT_QUEUE, account.namespace, account.job, account.asked)
            seconds[key] = seconds.get(key, 0) + lasted
    rows: Rows = {}
    for (queue, namespace, job, asked), lasted in seconds.items():
        held = rows.setdefault(UsageKey(queue, namespace, job), {})
        for resource, units in asked:
            held[resource] = held.get(resource, 0) + units * lasted
    return rows


def fold_small(rows: Rows, *, jobs_max: int) -> Rows:
    """At most so many jobs by name; the others of a queue and namespace in one row, so that sums stay.

    The largest are kept: those with the largest part of the hour's total of any one resource.
    """
    if len(rows) <= jobs_max:
        return rows
    total: Held = {}
    for held in rows.values():
        _add(total, held)
    order = sorted(rows, key=lambda key: (-_dominant(rows[key], total), key))
    folded: Rows = {key: rows[key] for key in order[:jobs_max]}
    for key in order[jobs_max:]:
        _add(folded.setdefault(UsageKey(key.queue, key.namespace, SMALL_JOBS), {}), rows[key])
    return folded


def _dominant(held: Mapping[str, int], total: Mapping[str, int]) -> int:
    """In millionths, so that no float decides."""
    return max(
        (units * 1_000_000 // max(total[name], 1) for name, units in held.items()), default=0
    )


def _add(total: Held, more: Mapping[str, int]) -> None:
    for resource, units in more.items():
        total[resource] = total.get(resource, 0) + units


def usage_row(key: UsageKey, held: Held, *, hour: int, closed: bool) -> UsageRow:
    """As it travels."""
    return UsageRow(
        queue=key.queue,
        namespace=key.namespace,
        job=key.job,
        hour=hour,
        held={resource: str(held[resource]) for resource in sorted(held)},
        closed=closed,
    )

"""Accounts summed by hour, queue, namespace and job, in exact integers."""

from collections.abc import Iterable, Mapping
from typing import Final

from vc.messages.usage import HOUR_SECONDS, UsageKey, UsageRow
from vc.model.api.keys import DEFAULT_QUEUE
from vc.model.values.resources import Resources
from vc.usage_ledger.logic.pod_account import PodAccount, Requests

Held = Resources
Rows = dict[UsageKey, Held]

SMALL_JOBS: Final = ""
"""Job name of a row that sums all small jobs of its queue and namespace."""


def rows_of_hour(accounts: Iterable[PodAccount], *, hour: int, now: float) -> Rows:
    """Usage in the hour that began at `hour`, up to `now`.

    Pods of a job have equal requests, so seconds are summed first and multiplied once.
    """
    begin, end = hour, min(hour + HOUR_SECONDS, int(now))
    seconds: dict[tuple[str, str, str, Requests], int] = {}
    for account in accounts:
        until = end if account.end is None else min(account.end, end)
        lasted = until - max(account.start, begin)
        if lasted > 0:
            # A pod whose PodGroup was never seen is charged to the default queue, as it is scheduled.
            queue = account.queue or DEFAULT_QUEUE
            key = (queue, account.namespace, account.job, account.requests)
            seconds[key] = seconds.get(key, 0) + lasted
    rows: Rows = {}
    for (queue, namespace, job, requests), lasted in seconds.items():
        held = rows.setdefault(UsageKey(queue, namespace, job), Resources())
        held.add(requests, times=lasted)
    return rows


def fold_small(rows: Rows, *, jobs_max: int) -> Rows:
    """At most the given number of jobs by name. The others are summed per queue and namespace.

    The largest are kept: those with the largest part of the hour's total of any one resource.
    """
    # The usual case needs no sums.
    if len(rows) <= jobs_max:
        return rows
    total = Resources.total(rows.values())
    # Ties are broken by key, so that every leader keeps the same jobs.
    order = sorted(rows, key=lambda key: (-_dominant(rows[key], total), key))
    folded: Rows = {key: rows[key] for key in order[:jobs_max]}
    for key in order[jobs_max:]:
        small = UsageKey(key.queue, key.namespace, SMALL_JOBS)
        folded.setdefault(small, Resources()).add(rows[key])
    return folded


def _dominant(held: Mapping[str, int], total: Mapping[str, int]) -> int:
    """The largest part of any resource, in millionths, so that no float decides."""
    return max(
        (units * 1_000_000 // max(total[name], 1) for name, units in held.items()), default=0
    )


def usage_row(key: UsageKey, held: Mapping[str, int], *, hour: int, closed: bool) -> UsageRow:
    """The row as published."""
    return UsageRow(
        queue=key.queue,
        namespace=key.namespace,
        job=key.job,
        hour=hour,
        held={resource: str(held[resource]) for resource in sorted(held)},
        closed=closed,
    )

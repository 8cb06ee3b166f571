"""`vcctl queue waiting [NAME]`: the waiting jobs of a queue in scheduling order, with reasons.

Order, reasons and headroom come from the scheduler. The headroom is what the queue, its ancestors
and the cluster have left. Estimated starts need a simulation of the whole cluster and are optional.
"""

import argparse
from collections.abc import Iterator
from typing import Final

from vc.cli.tables import printable
from vc.cli.vcctl.api.dashboard import Dashboard, dashboard_of
from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.api.resources import JsonObject, path_segment
from vc.cli.vcctl.output.output import print_answer
from vc.cli.vcctl.output.reasons import table_lines

NONE_WAITING: Final = "no job waits"
JOBS_ASKED: Final = "1000"
QUEUES_MAX: Final = "1000"
TITLES: Final = ("Place", "Job", "Stage", "Pods", "Waits because")
START: Final = "Start"
NO_BASIS: Final = "-"
_NOT_SHARED: Final = ("pods", "ephemeral-storage")
"""Resources that no quota plans with."""


def waiting(arguments: argparse.Namespace) -> int:
    """Print the waiting jobs."""
    dashboard = dashboard_of(arguments)
    name = arguments.words or arguments.name
    query = {"limit": JOBS_ASKED} | ({"estimate": "true"} if arguments.estimate else {})
    # Without a name only queues with waiting jobs are queried, to limit the requests.
    names = [name] if name else _names(dashboard)
    found = [
        dashboard.query(f"/api/v1/queues/{path_segment(q)}/waiting", query=query) for q in names
    ]
    # A queue that the user names is shown even if no job waits in it.
    shown = [one for one in found if name or one.get("waiting")]
    if arguments.output:
        print_answer({"queues": shown}, arguments.output)
        return EXIT_OK
    for number, one in enumerate(shown):
        if number:
            print()
        for line in lines(one, estimate=arguments.estimate):
            print(line)
    if not shown:
        print(NONE_WAITING)
    # The responses usually have the same note, so each note is printed once.
    for note in sorted({f"this may be old: {one['stale']}" for one in shown if one.get("stale")}):
        print(f"note: {note}")
    return EXIT_OK


def _names(dashboard: Dashboard) -> list[str]:
    """The queues with more requested than used resources, in tree order."""
    tree = dashboard.query("/api/v1/queues", query={"limit": QUEUES_MAX})
    queues: list[JsonObject] = tree.get("queues") or []
    return [str(queue["name"]) for queue in queues if queue.get("requested") != queue.get("used")]


def lines(one: JsonObject, *, estimate: bool) -> Iterator[str]:
    """The lines for one queue: its headroom and its waiting jobs."""
    jobs: list[JsonObject] = one.get("waiting") or []
    total = int(one.get("total", len(jobs)))
    count = "1 job waits" if total == 1 else f"{total} jobs wait"
    yield f"queue:     {one['queue']}, {count if total else NONE_WAITING}"
    headroom: JsonObject = one.get("headroom") or {}
    from vc.model.values.human_amounts import human_quantities

    left = [
        f"{name} {amount}"
        for name, amount in human_quantities(headroom).items()
        if name not in _NOT_SHARED
    ]
    yield f"headroom:  {', '.join(left) or 'there are no nodes'}"
    if not jobs:
        return
    yield ""
    titles = (*TITLES[:-1], START, TITLES[-1]) if estimate else TITLES
    yield from table_lines(titles, [_row(job, estimate=estimate) for job in jobs])
    if total > len(jobs):
        yield f"… and {total - len(jobs)} more jobs"


def _row(job: JsonObject, *, estimate: bool) -> list[str]:
    start = str((job.get("estimate") or {}).get("startsAt") or NO_BASIS)
    return [
        str(job["position"]),
        str(job["group"]),
        str(job["stage"]),
        str(job["neededPods"]),
        *([start] if estimate else []),
        printable(str(job["reason"])),
    ]

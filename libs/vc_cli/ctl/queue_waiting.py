"""`vcctl queue waiting [NAME]`: who waits in a queue, in the order in which they are tried, and for what.

The order and the reasons are the scheduler's own, and so is the headroom: what the queue, those above it
and the cluster still leave. When jobs may start takes a trial of the whole cluster, so it is asked for.
"""

import argparse
from collections.abc import Iterator
from typing import Final

from vc_cli.ctl.dashboard import Dashboard, dashboard_of
from vc_cli.ctl.errors import EXIT_OK
from vc_cli.ctl.output import print_answer
from vc_cli.ctl.reasons import table_lines
from vc_cli.ctl.resources import JsonObject, word
from vc_cli.ctl.tables import printable

NOBODY: Final = "nobody waits"
JOBS_ASKED: Final = "1000"
QUEUES_ASKED: Final = "1000"
TITLES: Final = ("Place", "Job", "Stage", "Pods", "Waits because")
START: Final = "Start"
NO_BASIS: Final = "-"
_NOT_SHARED: Final = ("pods", "ephemeral-storage")
"""Nobody plans with them."""


def waiting(arguments: argparse.Namespace) -> int:
    """Print it."""
    dashboard = dashboard_of(arguments)
    name = arguments.words or arguments.name
    query = {"limit": JOBS_ASKED} | ({"estimate": "true"} if arguments.estimate else {})
    names = [name] if name else _names(dashboard)
    found = [dashboard.ask(f"/api/v1/queues/{word(q)}/waiting", query=query) for q in names]
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
        print(NOBODY)
    for note in sorted({f"this may be old: {one['stale']}" for one in shown if one.get("stale")}):
        print(f"note: {note}")
    return EXIT_OK


def _names(dashboard: Dashboard) -> list[str]:
    """Queues in which something is asked for, in the order of the tree."""
    tree = dashboard.ask("/api/v1/queues", query={"limit": QUEUES_ASKED})
    queues: list[JsonObject] = tree.get("queues") or []
    return [str(queue["name"]) for queue in queues if queue.get("requested") != queue.get("used")]


def lines(one: JsonObject, *, estimate: bool) -> Iterator[str]:
    """A queue, what it may still take, and who waits in it."""
    jobs: list[JsonObject] = one.get("waiting") or []
    total = int(one.get("total", len(jobs)))
    count = "1 job waits" if total == 1 else f"{total} jobs wait"
    yield f"queue:     {one['queue']}, {count if total else NOBODY}"
    room: JsonObject = one.get("headroom") or {}
    from vc_model.human_amounts import human_quantities

    left = [
        f"{name} {amount}"
        for name, amount in human_quantities(room).items()
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

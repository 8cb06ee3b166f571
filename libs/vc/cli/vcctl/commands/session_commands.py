"""`vcctl session list|show|replay`: recorded scheduling sessions, and their replay."""

import argparse
from collections.abc import Iterator
from typing import Final

from vc.cli.tables import printable
from vc.cli.vcctl.api.dashboard import dashboard_of
from vc.cli.vcctl.api.errors import EXIT_FAILED, EXIT_OK
from vc.cli.vcctl.api.resources import JsonObject, path_segment
from vc.cli.vcctl.output.listing import NOTHING_FOUND
from vc.cli.vcctl.output.output import print_answer
from vc.cli.vcctl.output.reasons import table_lines

ROWS_SHOWN_MAX: Final = 20
TITLES: Final = (
    "Session", "Started", "Took", "Nodes", "Jobs", "Enqueued", "Bound", "Evicted", "Waiting", "Kept",
)  # fmt: skip


def list_sessions(arguments: argparse.Namespace) -> int:
    """List the newest sessions. Only sessions that are still kept can be shown or replayed."""
    limit = {"limit": str(arguments.limit)}
    found = dashboard_of(arguments).query("/api/v1/sessions", query=limit)
    if arguments.output:
        print_answer(found, arguments.output)
        return EXIT_OK
    rows = [_row(session) for session in found.get("sessions") or []]
    if not rows:
        print(NOTHING_FOUND)
        return EXIT_OK
    for line in table_lines(TITLES, rows):
        print(line)
    left = int(found.get("total", 0)) - len(rows)
    if left > 0:
        print(f"… and {left} more")
    return EXIT_OK


def show(arguments: argparse.Namespace) -> int:
    """Print the decisions of one session of the scheduler, as the dashboard reports them."""
    path = f"/api/v1/sessions/{path_segment(arguments.id)}"
    found = dashboard_of(arguments).query(path)
    if arguments.output:
        print_answer(found, arguments.output)
        return EXIT_OK
    for line in detail_lines(found):
        print(line)
    return EXIT_OK


def replay(arguments: argparse.Namespace) -> int:
    """Replay a session. The exit code is 1 if the decisions differ."""
    path = f"/api/v1/sessions/{path_segment(arguments.id)}/replay"
    found = dashboard_of(arguments).query(path)
    same = bool(found.get("same"))
    if arguments.output:
        print_answer(found, arguments.output)
        return EXIT_OK if same else EXIT_FAILED
    print(f"session {found['sessionId']}: {'the same, byte for byte' if same else 'DIFFERENT'}")
    print(f"recorded:  {found['recorded']}")
    print(f"replayed:  {found['replayed']}")
    print(
        f"decided:   {len(found.get('enqueued') or [])} enqueued, {found['boundPods']} pods bound, "
        f"{found['evictedPods']} evicted, {found['waiting']} jobs wait"
    )
    print(f"on:        {found['nodes']} nodes, {found['groups']} jobs; {found['tookMs']:.1f} ms")
    return EXIT_OK if same else EXIT_FAILED


def _row(session: JsonObject) -> list[str]:
    counts = ("nodes", "groups", "enqueued", "boundPods", "evicted", "waiting")
    return [
        str(session["sessionId"]),
        _time(float(session["startedAt"])),
        f"{session['tookMs']:.1f}ms",
        *(str(session.get(name, 0)) for name in counts),
        "yes" if session.get("kept") else "no",
    ]


def _time(seconds: float) -> str:
    from vc.model.values.times import format_time

    return format_time(seconds)


def detail_lines(found: JsonObject) -> Iterator[str]:
    """The decisions of a session, with the first rows of each table."""
    session, record = found["session"], found["record"]
    yield f"session:   {session['sessionId']}"
    yield f"started:   {_time(float(session['startedAt']))}, took {session['tookMs']:.1f} ms"
    yield f"on:        {session['nodes']} nodes, {session['groups']} jobs"
    yield f"actions:   {', '.join(found.get('actions') or []) or '-'}"
    yield f"digest:    {found.get('digest') or '-'}"
    # If the session cannot be replayed, the reason is shown instead of the command.
    why = found.get("whyNot")
    yield f"again:     {'no: ' + printable(str(why)) if why else 'vcctl session replay ' + session['sessionId']}"
    enqueued = [[str(group)] for group in record.get("enqueued") or []]
    yield from _part("Enqueued", ("Job",), enqueued)
    placed = [[str(p["pod"]), str(p["node"])] for p in record.get("placements") or []]
    yield from _part("Bound", ("Pod", "Node"), placed)
    evicted = [[str(v["pod"]), str(v["group"])] for v in record.get("evicted") or []]
    yield from _part("Evicted", ("Pod", "For"), evicted)
    taken = [[str(t["group"]), str(t["by"])] for t in record.get("taken_over") or []]
    yield from _part("Reservations taken over", ("Reserved for", "Now"), taken)
    waiting = [
        [str(job["position"]), str(job["group"]), str(job["queue"]), str(job["reason"]["sentence"])]
        for job in record.get("reasons") or []
    ]
    yield from _part("Waits for a new reason", ("Place", "Job", "Queue", "Reason"), waiting)


def _part(what: str, titles: tuple[str, ...], rows: list[list[str]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"{what}: {len(rows)}"
    yield from table_lines(titles, rows[:ROWS_SHOWN_MAX])
    if len(rows) > ROWS_SHOWN_MAX:
        yield f"… and {len(rows) - ROWS_SHOWN_MAX} more"

"""`vcctl job explain NAME`: why a job waits, for which holders and until when, with numbers.

The scheduler creates the reason when it rejects a job. The dashboard keeps the latest reason, finds
the holders of the missing resources and estimates the start by simulation. This module only prints
the result. If the dashboard does not respond, the condition of the PodGroup is printed.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from vc.cli.tables import COLOURS, is_colourful, paint, printable
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.connection import connect, expected
from vc.cli.vcctl.api.dashboard import Dashboard, dashboard_of
from vc.cli.vcctl.api.errors import EXIT_OK, ApiError, CtlError
from vc.cli.vcctl.api.resources import (
    JOBS,
    PODGROUPS,
    JsonObject,
    metadata,
    path_segment,
    spec,
    status,
)
from vc.cli.vcctl.commands.jobs.failure import FAILED, failure_lines
from vc.cli.vcctl.commands.jobs.jobs import phase_of
from vc.cli.vcctl.commands.jobs.timeline import ENDED
from vc.cli.vcctl.output.output import print_answer
from vc.cli.vcctl.output.reasons import reason_lines, sentence, table_lines
from vc.cli.vcctl.parser_options import Target, target_of

HOLDERS_SHOWN_MAX: Final = 5
WRITE_REFUSED: Final = "WriteRefused"
NOT_ALL: Final = "who holds what it waits for, and until when, is not known"
_WAITING_PHASES: Final = ("", "Pending", "Inqueue", "Restarting")


def explain(arguments: argparse.Namespace) -> int:
    """Print the explanation, or the dashboard's response with `-o`."""
    client, target = connect(arguments), target_of(arguments, "job")
    with expected(target, "job"):
        job = client.get(JOBS, target.name, namespace=target.namespace)
    # The job is read first: without it there is nothing to explain, even if the dashboard works.
    detail, trouble = _ask(dashboard_of(arguments, client=client), target)
    if arguments.output:
        # With -o a script expects the dashboard's response; there is no substitute for it.
        if not detail:
            raise CtlError(trouble)
        print_answer(detail, arguments.output)
        if trouble:
            print(f"vcctl: {NOT_ALL}: {trouble}", file=sys.stderr)
        return EXIT_OK
    for line in answer(job, detail):
        print(line)
    for line in failure_lines(client, job) if phase_of(job) == FAILED else ():
        print(line)
    if trouble and detail:
        print(f"\n{sentence(f'{NOT_ALL}: {trouble}', title='note:')}")
    elif trouble:
        print(f"\n{sentence(trouble, title='note:')}")
        print("           this is all that the PodGroup's condition says:")
        print(sentence(_condition(client, job) or "nothing yet"))
        return EXIT_OK
    for line in (*estimate(detail), *holders(detail)):
        print(line)
    if detail.get("stale"):
        print(f"note: this may be old: {detail['stale']}")
    return EXIT_OK


def _ask(dashboard: Dashboard, target: Target) -> tuple[JsonObject, str]:
    """The dashboard's response with estimate and holders of a waiting job, and an error message.

    Estimate and holders need a simulation of the whole cluster, which may be rejected or time out.
    The reason is known by then, so it is returned even if the simulation fails.
    """
    path = f"/api/v1/jobs/{path_segment(target.namespace)}/{path_segment(target.name)}"
    detail: JsonObject = {}
    try:
        detail = dashboard.query(path)
        if detail.get("explanation") or _has_more(detail):
            detail = {**detail, **dashboard.query(f"{path}/explanation")}
    except ApiError as error:
        return detail, f"the dashboard says: {error}"
    except CtlError as error:
        return detail, str(error)
    return detail, ""


def _has_more(detail: JsonObject) -> bool:
    """Whether a job that has its minimum still has pending pods."""
    job: JsonObject = detail.get("job") or {}
    return bool(job.get("pending")) and job.get("phase") == "Running"


def _condition(client: Client, job: JsonObject) -> str:
    """The message of the newest true condition of the job's pod group."""
    uid = metadata(job).get("uid")
    groups, _ = client.list(PODGROUPS, namespace=str(metadata(job).get("namespace", "")))
    for group in groups:
        owners = metadata(group).get("ownerReferences") or []
        # By the owner's uid, because a group of an earlier job may have the same name.
        if any(owner.get("uid") == uid for owner in owners):
            holding = [
                c for c in status(group).get("conditions") or [] if c.get("status") == "True"
            ]
            newest: JsonObject = max(
                holding, key=lambda c: str(c.get("lastTransitionTime", "")), default={}
            )
            return str(newest.get("message") or newest.get("reason") or "")
    return "its pod group does not exist yet"


def answer(job: JsonObject, detail: JsonObject) -> Iterator[str]:
    """The lines of the explanation, the most important first."""
    phase = phase_of(job)
    shown = paint(phase or "new", COLOURS.get(phase, "") if is_colourful() else "")
    found = metadata(job)
    yield f"job:       {found.get('namespace')}/{found.get('name')}  {shown}"
    yield f"queue:     {spec(job).get('queue') or 'default'}{_place(detail)}"
    state = status(job).get("state") or {}
    reason, more = detail.get("explanation"), detail.get("beyondMinimum")
    # The job controller's own message comes first; it may explain why pods are missing at all.
    if state.get("message"):
        title = "refused:" if state.get("reason") == WRITE_REFUSED else "says:"
        yield sentence(str(state["message"]), title=title)
    if isinstance(reason, dict):
        remedy = detail.get("remedy")
        yield from reason_lines(reason, remedy if isinstance(remedy, dict) else None)
        yield from _notes(detail, but=str(state.get("message") or ""))
        return
    # The job runs with its minimum; only its surplus pods wait.
    if isinstance(more, dict):
        yield from reason_lines(more)
        return
    group = detail.get("group")
    if phase in ENDED:
        yield "reason:    it has ended; see vcctl job timeline"
    elif phase not in _WAITING_PHASES:
        yield "reason:    nothing holds it back"
    elif not detail:
        return
    # Without a response of the dashboard the caller prints the PodGroup's condition instead.
    elif not isinstance(group, dict):
        yield "reason:    its pod group does not exist yet; the job controller makes it"
    else:
        yield sentence(str(group.get("message") or "the scheduler has not refused it"))


def _notes(detail: JsonObject, *, but: str) -> Iterator[str]:
    """Further notes, except those that the state message already contains."""
    for note in detail.get("notes") or []:
        if not but or but not in str(note):
            yield sentence(str(note), title="note:")


def _place(detail: JsonObject) -> str:
    """The job's position in the queue and the job before it."""
    position = detail.get("position") or 0
    if not position:
        return ""
    ahead = [printable(str(group)) for group in detail.get("ahead") or []]
    after = f", after {ahead[-1]}" if ahead else ""
    total = detail.get("pendingInQueue")
    of_total = f" of {total}" if total else ""
    return f", position {position}{of_total}{after}"


def estimate(detail: JsonObject) -> Iterator[str]:
    """The estimated start and its basis."""
    found = detail.get("estimate")
    if isinstance(found, dict):
        yield ""
        yield sentence(str(found.get("basis", "")), title="start:")
        if found.get("startsAt"):
            yield f"           ({found['startsAt']})"


def holders(detail: JsonObject) -> Iterator[str]:
    """The jobs that hold the missing resources, those with the largest amounts first."""
    found: list[JsonObject] = detail.get("holders") or []
    if not found:
        return
    rows = [
        [
            str(holder["group"]),
            str(holder["queue"]),
            str(holder["pods"]),
            _amounts(holder.get("amounts") or {}),
            str(holder.get("endsAt") or "-"),
        ]
        for holder in found[:HOLDERS_SHOWN_MAX]
    ]
    yield ""
    yield from table_lines(("Held by", "Queue", "Pods", "Holds", "Ends"), rows)
    # The dashboard limits the list, so the total may be larger than what it returned.
    left = int(detail.get("holdersTotal", 0)) - len(rows)
    if left > 0:
        yield f"… and {left} more jobs"


def _amounts(amounts: JsonObject) -> str:
    from vc.model.values.human_amounts import human_quantities

    shown = [f"{name} {text}" for name, text in human_quantities(amounts).items() if name != "pods"]
    return ", ".join(shown) or "-"

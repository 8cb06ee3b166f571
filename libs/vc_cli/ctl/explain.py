"""`vcctl job explain NAME`: why it waits, on whom, until when, with the numbers of the decision.

The scheduler makes the reason when it refuses; the dashboard keeps the last one, counts who holds what
is missing, and tries when the job may start; here it is only shown. When the dashboard does not
answer, the PodGroup's condition still has the sentence.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from vc_cli.ctl.client import Client
from vc_cli.ctl.dashboard import Dashboard, dashboard_of
from vc_cli.ctl.errors import EXIT_OK, ApiError, CtlError
from vc_cli.ctl.job_failure import FAILED, failure_lines
from vc_cli.ctl.jobs import phase_of
from vc_cli.ctl.output import print_answer
from vc_cli.ctl.parser_options import Target, target_of
from vc_cli.ctl.reasons import reason_lines, sentence, table_lines
from vc_cli.ctl.resources import JOBS, PODGROUPS, JsonObject, metadata, spec, status, word
from vc_cli.ctl.session import connect, expected
from vc_cli.ctl.tables import COLOURS, is_colourful, paint, printable
from vc_cli.ctl.timeline import ENDED

HOLDERS_SHOWN_MAX: Final = 5
WRITE_REFUSED: Final = "WriteRefused"
NOT_ALL: Final = "who holds what it waits for, and until when, is not known"
_WAITING_PHASES: Final = ("", "Pending", "Inqueue", "Restarting")


def explain(arguments: argparse.Namespace) -> int:
    """Print the answer, or the dashboard's own with `-o`."""
    client, target = connect(arguments), target_of(arguments, "job")
    with expected(target, "job"):
        job = client.get(JOBS, target.name, namespace=target.namespace)
    detail, trouble = _ask(dashboard_of(arguments, client=client), target)
    if arguments.output:
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
    """The dashboard's answer with what it can add to a job that waits, and what went wrong.

    What is added takes a trial of the whole cluster, which may be refused or last too long; the reason
    itself is known by then and is not given up.
    """
    path = f"/api/v1/jobs/{word(target.namespace)}/{word(target.name)}"
    detail: JsonObject = {}
    try:
        detail = dashboard.ask(path)
        if detail.get("explanation") or _has_more(detail):
            detail = {**detail, **dashboard.ask(f"{path}/explanation")}
    except ApiError as error:
        return detail, f"the dashboard says: {error}"
    except CtlError as error:
        return detail, str(error)
    return detail, ""


def _has_more(detail: JsonObject) -> bool:
    """Whether pods wait of a job that has its minimum."""
    job: JsonObject = detail.get("job") or {}
    return bool(job.get("pending")) and job.get("phase") == "Running"


def _condition(client: Client, job: JsonObject) -> str:
    """The newest condition that holds on the job's pod group."""
    uid = metadata(job).get("uid")
    groups, _ = client.list(PODGROUPS, namespace=str(metadata(job).get("namespace", "")))
    for group in groups:
        owners = metadata(group).get("ownerReferences") or []
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
    """What there is to say, the most important first."""
    phase = phase_of(job)
    shown = paint(phase or "new", COLOURS.get(phase, "") if is_colourful() else "")
    found = metadata(job)
    yield f"job:       {found.get('namespace')}/{found.get('name')}  {shown}"
    yield f"queue:     {spec(job).get('queue') or 'default'}{_place(detail)}"
    state = status(job).get("state") or {}
    reason, more = detail.get("explanation"), detail.get("beyondMinimum")
    if state.get("message"):
        title = "refused:" if state.get("reason") == WRITE_REFUSED else "says:"
        yield sentence(str(state["message"]), title=title)
    if isinstance(reason, dict):
        remedy = detail.get("remedy")
        yield from reason_lines(reason, remedy if isinstance(remedy, dict) else None)
        yield from _notes(detail, but=str(state.get("message") or ""))
        return
    if isinstance(more, dict):
        yield from reason_lines(more)
        return
    group = detail.get("group")
    if phase in ENDED:
        yield "reason:    it has ended; vcctl job timeline tells when"
    elif phase not in _WAITING_PHASES:
        yield "reason:    nothing holds it back"
    elif not detail:
        return
    elif not isinstance(group, dict):
        yield "reason:    its pod group does not exist yet; the job controller makes it"
    else:
        yield sentence(str(group.get("message") or "the scheduler has not refused it"))


def _notes(detail: JsonObject, *, but: str) -> Iterator[str]:
    """What else keeps it waiting, as far as it was not said."""
    for note in detail.get("notes") or []:
        if not but or but not in str(note):
            yield sentence(str(note), title="note:")


def _place(detail: JsonObject) -> str:
    """Where it stands among those that wait, and after whom."""
    position = detail.get("position") or 0
    if not position:
        return ""
    ahead = [printable(str(group)) for group in detail.get("ahead") or []]
    after = f", after {ahead[-1]}" if ahead else ""
    return f", number {position} of those that wait{after}"


def estimate(detail: JsonObject) -> Iterator[str]:
    """When it may start, and what that rests on."""
    found = detail.get("estimate")
    if isinstance(found, dict):
        yield ""
        yield sentence(str(found.get("basis", "")), title="start:")
        if found.get("startsAt"):
            yield f"           ({found['startsAt']})"


def holders(detail: JsonObject) -> Iterator[str]:
    """Who has what it waits for, the most of it first."""
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
    left = int(detail.get("holdersTotal", 0)) - len(rows)
    if left > 0:
        yield f"… and {left} more jobs"


def _amounts(amounts: JsonObject) -> str:
    from vc_model.human_amounts import human_quantities

    shown = [f"{name} {text}" for name, text in human_quantities(amounts).items() if name != "pods"]
    return ", ".join(shown) or "-"

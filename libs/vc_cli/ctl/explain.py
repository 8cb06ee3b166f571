"""`vcctl job explain NAME`: why it waits, with the numbers of the decision that refused it.

The scheduler makes the reason when it refuses; the dashboard keeps the last one; here it is only
shown. When the dashboard does not answer, the PodGroup's condition still has the sentence.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Final

from vc_cli.ctl.client import Client
from vc_cli.ctl.errors import EXIT_OK, ApiError, CtlError
from vc_cli.ctl.jobs import phase_of
from vc_cli.ctl.parser_options import Target, target_of
from vc_cli.ctl.resources import JOBS, PODGROUPS, JsonObject, metadata, spec, status, word
from vc_cli.ctl.session import connect, expected
from vc_cli.ctl.tables import COLOURS, Column, Table, is_colourful, paint, printable
from vc_cli.ctl.timeline import ENDED

HOLDERS_ASKED: Final = "1000"
HOLDERS_SHOWN_MAX: Final = 5
LINE_LETTERS_MAX: Final = 100
TITLE_LETTERS: Final = 11
_WAITING_PHASES: Final = ("", "Pending", "Inqueue", "Restarting")
_STAGES: Final = {
    "invalid": "its manifest cannot be used",
    "queue-missing": "its queue does not exist",
    "queue-closed": "its queue lets no jobs in",
    "quota": "its queue, or one above it, is full",
    "overcommit": "the cluster has let in as much as it can hold soon",
    "namespace-quota": "a ResourceQuota of its namespace is used up",
    "volumes": "a claim on storage is missing or not bound yet",
    "tasks": "not all its pods exist yet, or some are gated",
    "bind": "a bind failed and is tried again",
    "predicate": "no node passes the checks",
    "gang": "not all pods that must start together fit",
    "order": "its queue is fifo and another job is before it",
    "victims": "its room is kept, and pods that leave still take it",
}
_SCATTERED: Final = "(in all there is enough; it is scattered over the nodes)"
_CONTENTION: Final = ("quota", "overcommit", "gang", "predicate")
"""Stages at which somebody else holds what is missing."""
_UNBLOCK: Final = {
    "create-queue": "create queue {target}",
    "open-queue": "vcctl queue operate -n {target} -a open",
    "raise-capability": "raise the capability of queue {target} by {amounts}, or wait for its jobs",
    "free": "free {amounts}",
    "add-room": "room for {amounts}{pods}",
    "create-pods": "{count} more pods of {target}",
    "raise-weight": "raise the weight of queue {target}, or wait for its jobs",
    "raise-quota": "raise ResourceQuota {target} by {amounts}, or wait for pods of the namespace",
    "create-claim": "create claim {target}",
    "create-volume": "create volume {target}",
    "bind-claim": "bind claim {target} to a volume",
    "free-claim": "end the pod that uses claim {target}",
    "wait": "nothing to do but wait",
    "fix": "correct the manifest",
}


def explain(arguments: argparse.Namespace) -> int:
    """Print the answer, or the dashboard's own with `-o json`."""
    client, target = connect(arguments), target_of(arguments, "job")
    with expected(target, "job"):
        job = client.get(JOBS, target.name, namespace=target.namespace)
    detail, trouble = _ask(client, target)
    if arguments.output:
        if trouble:
            raise CtlError(f"the dashboard does not answer: {trouble}")
        print(json.dumps(detail, indent=2, ensure_ascii=False))
        return EXIT_OK
    for line in answer(job, detail):
        print(line)
    if trouble:
        print(f"\nnote: the dashboard does not answer ({trouble});")
        print("      this is all that the PodGroup's condition says")
        print(_sentence(_condition(client, job) or "nothing yet"))
        return EXIT_OK
    for line in holders(client, detail):
        print(line)
    if detail.get("stale"):
        print(f"note: this may be old: {detail['stale']}")
    return EXIT_OK


def _ask(client: Client, target: Target) -> tuple[JsonObject, str]:
    """The dashboard's answer, or why there is none."""
    try:
        return client.dashboard(f"/api/v1/jobs/{word(target.namespace)}/{word(target.name)}"), ""
    except ApiError as error:
        return {}, str(error)


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
    queue = spec(job).get("queue") or "default"
    position = detail.get("position") or 0
    yield f"queue:     {queue}" + (f", number {position} of those that wait" if position else "")
    reason = detail.get("explanation")
    if isinstance(reason, dict):
        yield from _reason_lines(reason)
        return
    state = status(job).get("state") or {}
    if state.get("message"):
        yield f"says:      {printable(str(state['message']))}"
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
        yield _sentence(str(group.get("message") or "the scheduler has not refused it"))


def _reason_lines(reason: JsonObject) -> Iterator[str]:
    stage = str(reason.get("stage", ""))
    yield f"stage:     {stage} ({_STAGES.get(stage, 'see the reason')})"
    yield _sentence(str(reason.get("sentence", "")))
    if reason.get("needed_pods"):
        yield f"pods:      {reason['needed_pods']} needed, {reason.get('placeable_pods', 0)} fit now"
    unblock = reason.get("unblock")
    if isinstance(unblock, dict):
        yield f"unblock:   {_unblock(unblock)}"
    amounts = reason.get("amounts") or []
    if amounts:
        yield ""
        titles = ("Resource", "Needed", "Available", "Missing")
        yield from _table(titles, [_amount_row(amount) for amount in amounts])
        if not any(int(amount["missing"]) for amount in amounts):
            yield _SCATTERED
    checks = reason.get("checks") or []
    if checks:
        yield ""
        rows = [[str(check["name"]), str(check["nodes_left"])] for check in checks]
        yield from _table(("Check", "Nodes left"), rows)


def _sentence(text: str) -> str:
    """The reason over as many lines as it needs, below one another."""
    from textwrap import fill

    title = "reason:"
    return fill(
        printable(text),
        width=LINE_LETTERS_MAX,
        initial_indent=title.ljust(TITLE_LETTERS),
        subsequent_indent=" " * TITLE_LETTERS,
        break_long_words=False,
    )


def _amount_row(amount: JsonObject) -> list[str]:
    name = str(amount["resource"])
    return [name, *(_shown(name, int(amount[key])) for key in ("needed", "available", "missing"))]


def _shown(resource: str, units: int) -> str:
    """Units as people write them."""
    from vc_model.quantity import decimals_of, format_quantity

    return format_quantity(units, decimals=decimals_of(resource))


def _unblock(unblock: JsonObject) -> str:
    amounts = unblock.get("amounts") or {}
    pods = int(unblock.get("pods") or 0)
    text = ", ".join(
        f"{name} {_shown(name, int(units))}" for name, units in amounts.items() if name != "pods"
    )
    form = _UNBLOCK.get(str(unblock.get("action", "")), "{action} {target}")
    return form.format(
        action=unblock.get("action", ""),
        target=repr(unblock.get("target", "")),
        amounts=text or "nothing more",
        pods=f" each, for {pods} more pods" if pods else "",
        count=pods,
    )


def holders(client: Client, detail: JsonObject) -> Iterator[str]:
    """Who runs where this job wants to: in its queue when that is full, else anywhere."""
    reason = detail.get("explanation") or {}
    if reason.get("stage") not in _CONTENTION:
        return
    query = {"limit": HOLDERS_ASKED, "phase": "Running"}
    full_queue = str((reason.get("unblock") or {}).get("target", ""))
    if reason.get("stage") == "quota" and full_queue:
        query["queue"] = full_queue
    jobs = client.dashboard("/api/v1/jobs", query=query).get("jobs") or []
    running = sorted(jobs, key=lambda job: -int(job.get("running", 0)))
    if not running:
        return
    yield ""
    rows = [
        [f"{job['namespace']}/{job['name']}", str(job["queue"]), str(job["running"])]
        for job in running[:HOLDERS_SHOWN_MAX]
    ]
    yield from _table(("Running now", "Queue", "Pods"), rows)
    if len(running) > HOLDERS_SHOWN_MAX:
        yield f"… and {len(running) - HOLDERS_SHOWN_MAX} more jobs"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    table = Table([Column(title) for title in titles], rows)
    yield table.header()
    for row in rows:
        yield table.line(row)

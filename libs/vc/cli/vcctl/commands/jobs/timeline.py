"""`vcctl job timeline NAME`: the history of a job, from its status.

Times have whole seconds; the trace, whose link or id is printed above the table, is more precise.
Pods are not a reliable source, because drains and restarts replace them. For a job that has left
Pending, the times that the job controller recorded for each run are used. A job that another
controller ran has no such record. Its conditions then give the latest possible time of a step, and
the row says so. Only for a job that waits for its first run the times come from its pods.
"""

import argparse
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import Final, NamedTuple

from vc.cli.tables import GAP, Column, TextTable
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.connection import connect, expected
from vc.cli.vcctl.api.dashboard import named_place
from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.api.resources import (
    JOB_NAME,
    JOBS,
    PODGROUPS,
    PODS,
    JsonObject,
    metadata,
    spec,
    status,
)
from vc.cli.vcctl.commands.jobs.jobs import phase_of
from vc.cli.vcctl.output.output import print_answer
from vc.cli.vcctl.output.trace_link import link_of, trace_id
from vc.cli.vcctl.parser_options import target_of
from vc.model.values.ages import human_duration
from vc.model.values.times import parse_time

TITLES: Final = ("Time", "After", "Step", "Detail")
DETAIL_LENGTH_MIN: Final = 12
FIRST_PHASE: Final = "Pending"
RUNNING: Final = "Running"
AT_THE_LATEST: Final = "at the latest; its controller recorded no times"
SO_FAR: Final = "so far"
RUN: Final = "run-"
"""Prefix of the records in `status.controlledResources`: `run-1` is the first run."""
ENDED: Final = ("Completed", "Failed", "Aborted", "Terminated")


class Step(NamedTuple):
    """One event in the history of a job."""

    time: str
    step: str
    detail: str = ""


def timeline(arguments: argparse.Namespace) -> int:
    """Print when a job and its pods passed each step, and the link to its trace."""
    client, target = connect(arguments), target_of(arguments, "job")
    with expected(target, "job"):
        job = client.get(JOBS, target.name, namespace=target.namespace)
    steps = steps_of(job, groups=_groups(client, job), pods=_pods(client, job))
    # The id is derived from the job's uid, so no request is needed for it.
    trace = _trace_of(job)
    link = link_of(trace, client, given=arguments.trace_ui, place=named_place(arguments))
    if arguments.output:
        shown = {"job": f"{target.namespace}/{target.name}", "phase": phase_of(job)}
        traced = {"traceId": trace, "traceLink": link}
        answer = {**shown, **traced, "steps": [s._asdict() for s in steps]}
        print_answer(answer, arguments.output)
        return EXIT_OK
    print(f"job    {target.namespace}/{target.name}: {phase_of(job) or 'new'}")
    print(f"trace  {link or trace}")
    print()
    rows = [[s.time, _after(steps[0].time, s.time), s.step, s.detail] for s in steps]
    # Output to a pipe is not cut, because a script may need the whole detail.
    rows = fitted(rows, columns=get_terminal_size().columns if sys.stdout.isatty() else 0)
    table = TextTable([Column(title) for title in TITLES], rows)
    print(table.header())
    for row in rows:
        print(table.line(row))
    return EXIT_OK


def fitted(rows: list[list[str]], *, columns: int) -> list[list[str]]:
    """Rows whose details are cut at the terminal's width. 0 columns cut nothing."""
    before = sum(
        max(len(TITLES[index]), *(len(row[index]) for row in rows)) + GAP for index in range(3)
    )
    width = max(DETAIL_LENGTH_MIN, columns - before)
    if not columns:
        return rows
    return [
        [*row[:3], row[3] if len(row[3]) <= width else row[3][: width - 1] + "…"] for row in rows
    ]


def steps_of(
    job: JsonObject, *, groups: Iterable[JsonObject], pods: Iterable[JsonObject]
) -> list[Step]:
    """All steps by time. Steps of the same second keep the order of the life cycle."""
    found = metadata(job)
    queue = spec(job).get("queue") or "default"
    steps = [Step(str(found.get("creationTimestamp", "")), "submitted", f"to queue {queue}")]
    conditions: list[JsonObject] = status(job).get("conditions") or []
    runs = _runs(job)
    steps += _admitted(list(groups), conditions)
    if runs:
        steps += [step for number, run in runs for step in _run_steps(number, run)]
    elif all(condition.get("status") == FIRST_PHASE for condition in conditions):
        steps += _pod_steps(list(pods))
    else:
        steps += _before_running(conditions)
    for number, condition in enumerate(conditions):
        phase = str(condition.get("status", ""))
        if (number == 0 and phase == FIRST_PHASE) or (runs and phase == RUNNING):
            continue  # the submission is listed already; the records have the times of the runs
        # A job may be restarted after it failed, so only the last condition is its end.
        detail = "ended" if phase in ENDED and number == len(conditions) - 1 else ""
        steps.append(Step(str(condition.get("lastTransitionTime", "")), phase.lower(), detail))
    # Services write times by their estimate of the API server's clock, in whole seconds, so a step may be
    # recorded a second before the submission.
    submitted = parse_time(steps[0].time) or 0.0
    steps = [
        step._replace(time=steps[0].time)
        if 0.0 < (parse_time(step.time) or 0.0) < submitted
        else step
        for step in steps
    ]
    return sorted(steps, key=lambda step: parse_time(step.time) or 0.0)


def _admitted(groups: list[JsonObject], conditions: list[JsonObject]) -> list[Step]:
    """When the job controller processed the job and created its pod group, by its first
    condition.
    """
    times = sorted(str(condition.get("lastTransitionTime", "")) for condition in conditions)
    times = times or [str(metadata(group).get("creationTimestamp", "")) for group in groups]
    return [Step(times[0], "admitted", "pod group made")] if times else []


def _runs(job: JsonObject) -> list[tuple[int, dict[str, str]]]:
    """The times that the job controller recorded for each run, in order."""
    noted: JsonObject = status(job).get("controlledResources") or {}
    found: list[tuple[int, dict[str, str]]] = []
    for key, text in noted.items():
        number = key.removeprefix(RUN)
        # Other keys of controlledResources belong to job plugins.
        if key.startswith(RUN) and number.isdecimal():
            pairs = (fact.partition("=") for fact in str(text).split(","))
            found.append((int(number), {name: value for name, _, value in pairs if value}))
    return sorted(found, key=lambda run: run[0])


def _run_steps(number: int, run: dict[str, str]) -> list[Step]:
    which = f", run {number}" if number > 1 else ""
    pods, nodes = int(run.get("pods", 0)), int(run.get("nodes", 0))
    steps: list[Step] = []
    if "made" in run:
        steps.append(Step(run["made"], "enqueued", f"{_count(pods, 'pod')} made{which}"))
    if "bound" in run:
        steps.append(Step(run["bound"], "bound", f"on {_count(nodes, 'node')}{which}"))
    if "ran" in run:
        steps.append(Step(run["ran"], RUNNING.lower(), which.removeprefix(", ")))
    return steps


def _before_running(conditions: list[JsonObject]) -> list[Step]:
    """The steps before Running, for a job without records of its runs."""
    ran = [str(c.get("lastTransitionTime", "")) for c in conditions if c.get("status") == RUNNING]
    return [Step(at, step, AT_THE_LATEST) for at in ran[:1] for step in ("enqueued", "bound")]


def _pod_steps(pods: list[JsonObject]) -> list[Step]:
    """The steps of a job that has not run yet. Its pods are created when its group is enqueued."""
    made = sorted(str(metadata(pod).get("creationTimestamp", "")) for pod in pods)
    bound = sorted(filter(None, (_bound_at(pod) for pod in pods)))
    steps = [Step(made[0], "enqueued", f"{_count(len(made), 'pod')} {SO_FAR}")] if made else []
    if bound:
        nodes = {str(spec(pod).get("nodeName")) for pod in pods if _bound_at(pod)}
        detail = (
            f"{len(bound)} of {_count(len(pods), 'pod')}, on {_count(len(nodes), 'node')}, {SO_FAR}"
        )
        steps.append(Step(bound[-1], "bound", detail))
    return steps


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _bound_at(pod: JsonObject) -> str:
    for condition in status(pod).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return str(condition.get("lastTransitionTime", ""))
    return ""


def _groups(client: Client, job: JsonObject) -> list[JsonObject]:
    groups, _ = client.list(PODGROUPS, namespace=str(metadata(job).get("namespace", "")))
    return [group for group in groups if _is_owned(group, job)]


def _pods(client: Client, job: JsonObject) -> list[JsonObject]:
    query = {"labelSelector": f"{JOB_NAME}={metadata(job)['name']}"}
    pods, _ = client.list(PODS, namespace=str(metadata(job).get("namespace", "")), query=query)
    return [pod for pod in pods if _is_owned(pod, job)]


def _is_owned(obj: JsonObject, job: JsonObject) -> bool:
    """Whether the job owns the object, by uid: a deleted job of the same name may have left
    objects.
    """
    owners = metadata(obj).get("ownerReferences") or []
    return any(owner.get("uid") == metadata(job).get("uid") for owner in owners)


def _after(start: str, time: str) -> str:
    first, then = parse_time(start), parse_time(time)
    return "" if first is None or then is None else f"+{human_duration(then - first)}"


def _trace_of(job: JsonObject) -> str:
    return trace_id(str(metadata(job).get("uid", "")))

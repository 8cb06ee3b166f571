"""`vcctl job view`: a job in the style of `kubectl describe`, with the order of Volcano's vcctl."""

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from vc.cli.tables import Column, TextTable, printable
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.connection import connect, expected
from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.api.resources import EVENTS, JOBS, PODGROUPS, JsonObject, metadata, spec, status
from vc.cli.vcctl.output.output import print_object
from vc.cli.vcctl.parser_options import Target, target_of
from vc.model.values.ages import UNKNOWN_AGE, age

NONE: Final = "<none>"
_INDENT: Final = "  "
_METADATA: Final = {
    "Creation Timestamp": "creationTimestamp",
    "Generate Name": "generateName",
    "Generation": "generation",
    "Resource Version": "resourceVersion",
    "UID": "uid",
}
_COUNTERS: Final = {
    "Succeeded": "succeeded",
    "Pending": "pending",
    "Running": "running",
    "Failed": "failed",
    "Terminating": "terminating",
    "Unknown": "unknown",
    "RetryCount": "retryCount",
    "Min Available": "minAvailable",
    "Version": "version",
}
EVENT_COLUMNS: Final = tuple(Column(t) for t in ("Type", "Reason", "Age", "From", "Message"))


def view(arguments: argparse.Namespace) -> int:
    """Carry out `vcctl job view`: print the named job and its events."""
    return show_job(connect(arguments), target_of(arguments, "job"), form=arguments.output)


def show_job(client: Client, target: Target, *, form: str = "") -> int:
    """Print the job and its events, or the object itself."""
    with expected(target, "job"):
        job = client.get(JOBS, target.name, namespace=target.namespace)
    if form:
        print_object(job, form)
        return EXIT_OK
    for line in describe(job):
        print(line)
    for line in events_of(client, job):
        print(line)
    return EXIT_OK


def describe(job: JsonObject) -> Iterator[str]:
    """All lines except the events."""
    found = metadata(job)
    yield _pair("Name", found.get("name", ""))
    yield _pair("Namespace", found.get("namespace", ""))
    for title, field in (("Labels", "labels"), ("Annotations", "annotations")):
        yield _pair(title, json.dumps(found[field], sort_keys=True) if found.get(field) else NONE)
    yield _pair("API Version", job.get("apiVersion", ""))
    yield _pair("Kind", job.get("kind", ""))
    yield "Metadata:"
    for title, field in _METADATA.items():
        if field in found:
            yield _pair(title, found[field], level=1, width=20)
    yield "Spec:"
    yield from _spec(spec(job))
    yield "Status:"
    yield from _status(status(job))


def _spec(wanted: JsonObject) -> Iterator[str]:
    yield _pair("Min Available", wanted.get("minAvailable", 0), level=1, width=16)
    plugins: JsonObject = wanted.get("plugins") or {}
    yield f"{_INDENT}Plugins:" if plugins else _pair("Plugins", NONE, level=1, width=16)
    for name, flags in plugins.items():
        yield _pair(name.capitalize(), _words(flags), level=2, width=9)
    yield _pair("Queue", wanted.get("queue", ""), level=1, width=16)
    yield _pair("Scheduler Name", wanted.get("schedulerName", ""), level=1, width=16)
    yield f"{_INDENT}Tasks:"
    for task in wanted.get("tasks") or []:
        yield from _task(task)


def _task(task: JsonObject) -> Iterator[str]:
    yield _pair("Name", task.get("name", ""), level=2)
    yield _pair("Replicas", task.get("replicas", 0), level=2)
    yield f"{_INDENT * 2}Template:"
    pod = (task.get("template") or {}).get("spec") or {}
    yield f"{_INDENT * 3}Containers:"
    for container in pod.get("containers") or []:
        yield from _container(container)
    yield _pair("Restart Policy", pod.get("restartPolicy", ""), level=3, width=16)


def _container(container: JsonObject) -> Iterator[str]:
    yield _pair("Name", container.get("name", ""), level=4)
    yield _pair("Image", container.get("image", ""), level=4)
    if container.get("command"):
        yield _pair("Command", json.dumps(container["command"]), level=4)
    resources = container.get("resources") or {}
    for title in ("limits", "requests"):
        amounts = resources.get(title) or {}
        text = ", ".join(f"{name}={amount}" for name, amount in sorted(amounts.items()))
        yield _pair(title.capitalize(), text or NONE, level=4)
    if container.get("workingDir"):
        yield _pair("Working Dir", container["workingDir"], level=4)


def _status(now: JsonObject) -> Iterator[str]:
    for title, field in _COUNTERS.items():
        # Counters that are zero are left out, as in Volcano's output.
        if now.get(field):
            yield _pair(title, now[field], level=1, width=16)
    state = now.get("state") or {}
    yield f"{_INDENT}State:"
    for title in ("phase", "reason", "message"):
        if state.get(title) or title == "phase":
            yield _pair(title.capitalize(), state.get(title, ""), level=2, width=9)
    controlled = now.get("controlledResources") or {}
    if controlled:
        yield f"{_INDENT}Controlled Resources:"
        for name, value in sorted(controlled.items()):
            yield _pair(name, value, level=2, width=20)
    if now.get("conditions"):
        yield f"{_INDENT}Conditions:"
        yield f"{_INDENT * 2}{'Status':<14}Transition Time"
        for condition in now["conditions"]:
            at = condition.get("lastTransitionTime", "")
            yield f"{_INDENT * 2}{condition.get('status', ''):<14}{at}"


def _pair(title: str, value: Any, *, level: int = 0, width: int = 13) -> str:
    return f"{_INDENT * level}{title + ':':<{width}}{printable(str(value))}".rstrip()


def _words(flags: Any) -> str:
    return f"[{' '.join(str(flag) for flag in flags or [])}]"


def events_of(client: Client, job: JsonObject) -> Iterator[str]:
    """The events of this job and its pod group, oldest first."""
    found = metadata(job)
    namespace = str(found.get("namespace", ""))
    groups, _ = client.list(PODGROUPS, namespace=namespace)
    # Events of the job have its name; those of its pod group may have the uid in the name, too.
    names = dict.fromkeys([str(found["name"]), f"{found['name']}-{found['uid']}"])
    heard: list[JsonObject] = []
    for name in names:
        query = {"fieldSelector": f"involvedObject.name={name}"}
        heard += client.list(EVENTS, namespace=namespace, query=query)[0]
    # Names are reused; only the uid shows whether an event is about this job.
    uids = {str(found["uid"])} | _group_uids(job, groups, heard)
    events = [event for event in heard if _involved(event).get("uid") in uids]
    if not events:
        yield _pair("Events", NONE)
        return
    # RFC 3339 times of one zone sort as text.
    events.sort(key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
    rows = [_event_row(event, client.now) for event in events]
    table = TextTable(EVENT_COLUMNS, rows)
    yield "Events:"
    yield f"{_INDENT}{table.header()}"
    for row in rows:
        yield f"{_INDENT}{table.line(row)}"


def _group_uids(
    job: JsonObject, groups: Iterable[JsonObject], events: Iterable[JsonObject]
) -> set[str]:
    """The uids of the job's pod group. A job of the same name may have existed before.

    The group is deleted when the job ends, and then only its events are left. A group belongs to
    this job if its name contains the job's uid, or if its first event is later than the job's
    creation. Events in the second of the creation do not count, because an earlier job of the same
    name may have ended in it.
    """
    found = metadata(job)
    owned = {
        str(metadata(group).get("uid", ""))
        for group in groups
        for owner in metadata(group).get("ownerReferences") or []
        if owner.get("uid") == found["uid"]
    }
    # An existing group is certain; events are only needed after it was deleted.
    if owned:
        return owned
    named: set[str] = set()
    first: dict[str, str] = {}
    for event in events:
        involved = _involved(event)
        # The job may have the same name as its group; only events of groups are examined.
        if involved.get("kind") != PODGROUPS.kind:
            continue
        uid = str(involved.get("uid", ""))
        if str(found["uid"]) in str(involved.get("name", "")):
            named.add(uid)
        at = str(event.get("firstTimestamp") or event.get("eventTime") or "")
        first[uid] = min(first.get(uid, at), at)
    created_at = str(found.get("creationTimestamp", ""))
    # Compared by whole seconds: a time in the second of the creation does not count as later.
    return named | {uid for uid, at in first.items() if at[: len(created_at) - 1] > created_at[:-1]}


def _involved(event: JsonObject) -> JsonObject:
    involved: JsonObject = event.get("involvedObject") or {}
    return involved


def _event_row(event: JsonObject, now: float | None) -> list[str]:
    source = event.get("source") or {}
    return [
        str(event.get("type", "")),
        str(event.get("reason", "")),
        _event_age(event, now),
        str(source.get("component") or event.get("reportingComponent") or ""),
        " ".join(str(event.get("message", "")).split()),
    ]


def _event_age(event: JsonObject, now: float | None) -> str:
    if now is None:
        return UNKNOWN_AGE
    last = age(event.get("lastTimestamp") or event.get("eventTime"), now=now)
    count = int(event.get("count") or 1)
    if count == 1:
        return last
    return f"{last} (x{count} over {age(event.get('firstTimestamp'), now=now)})"

"""`vcctl job list|suspend|resume|delete`, and what the slurm-like tools share with them."""

import argparse
from typing import Final

from vc.cli.tables import Column
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.connection import connect, expected
from vc.cli.vcctl.api.errors import EXIT_OK
from vc.cli.vcctl.api.resources import (
    COMMANDS,
    DEFAULT_QUEUE,
    JOB_TYPE,
    JOBS,
    JsonObject,
    Resource,
    metadata,
    spec,
    status,
)
from vc.cli.vcctl.output.listing import Listing, Row, show
from vc.cli.vcctl.output.output import WIDE
from vc.cli.vcctl.parser_options import Target, namespace_of, target_of
from vc.model.values.ages import UNKNOWN_AGE, age

COLUMNS: Final = (
    Column("Name"), Column("Creation", 15), Column("Phase", 12), Column("JobType", 12),
    Column("Replicas", 12), Column("Min", 6), Column("Pending", 10), Column("Running", 10),
    Column("Succeeded", 12), Column("Failed", 10), Column("Unknown", 12), Column("RetryCount", 10),
)  # fmt: skip
WIDE_COLUMNS: Final = (Column("Queue"), Column("Age"), Column("Priority"))
NAMESPACE: Final = Column("Namespace")
COUNTERS: Final = ("pending", "running", "succeeded", "failed", "unknown", "retryCount")
BATCH: Final = "Batch"
_DATE_LENGTH: Final = len("2026-01-31")


def list_jobs(arguments: argparse.Namespace) -> int:
    """The command `job list`."""
    client = connect(arguments)
    every, wide = arguments.all_namespaces, arguments.output == WIDE

    def row(job: JsonObject) -> Row:
        first = [str(metadata(job).get("namespace", ""))] if every else []
        return [*first, *_cells(job), *(_wide_cells(job, client.now) if wide else [])]

    listing = Listing(
        resource=JOBS,
        columns=[*([NAMESPACE] if every else []), *COLUMNS, *(WIDE_COLUMNS if wide else [])],
        row=row,
        namespace=namespace_of(arguments),
        keep=lambda job: _is_wanted(job, arguments),
    )
    return show(client, listing, form=arguments.output, watch=arguments.watch)


def _is_wanted(job: JsonObject, arguments: argparse.Namespace) -> bool:
    return (
        arguments.selector in str(metadata(job).get("name", ""))
        and arguments.queue in ("", _queue(job))
        and arguments.scheduler in ("", spec(job).get("schedulerName", ""))
    )


def _queue(job: JsonObject) -> str:
    return str(spec(job).get("queue") or DEFAULT_QUEUE)


def _cells(job: JsonObject) -> list[str]:
    found, now = metadata(job), status(job)
    tasks = spec(job).get("tasks") or []
    # The status has the minimum that the controller uses; a new job has only its spec.
    minimum = now.get("minAvailable") or spec(job).get("minAvailable", 0)
    return [
        str(found.get("name", "")),
        str(found.get("creationTimestamp", ""))[:_DATE_LENGTH],
        phase_of(job),
        str((found.get("labels") or {}).get(JOB_TYPE) or BATCH),
        str(sum(int(task.get("replicas", 0)) for task in tasks)),
        str(minimum),
        *(str(now.get(counter, 0)) for counter in COUNTERS),
    ]


def phase_of(job: JsonObject) -> str:
    """The phase of a job. Empty until the job controller has processed the job."""
    return str((status(job).get("state") or {}).get("phase", ""))


def _wide_cells(job: JsonObject, now: float | None) -> list[str]:
    created = metadata(job).get("creationTimestamp")
    return [
        _queue(job),
        UNKNOWN_AGE if now is None else age(created, now=now),
        str(spec(job).get("priorityClassName") or "-"),
    ]


# -- actions on one job ----------------------------------------------------------------------------


def suspend(arguments: argparse.Namespace) -> int:
    """The command `job suspend`: the pods are deleted, the job stays."""
    target = target_of(arguments, "job")
    return act(connect(arguments), target, action="AbortJob", verb="suspend")


def resume(arguments: argparse.Namespace) -> int:
    """The command `job resume`."""
    target = target_of(arguments, "job")
    return act(connect(arguments), target, action="ResumeJob", verb="resume")


def delete(arguments: argparse.Namespace) -> int:
    """The command `job delete`."""
    target = target_of(arguments, "job")
    return remove(connect(arguments), target, verb="delete")


def act(client: Client, target: Target, *, action: str, verb: str) -> int:
    """Create a Command for the job controller."""
    with expected(target, "job"):
        job = client.get(JOBS, target.name, namespace=target.namespace)
    body = command_for(job, JOBS, action=action)
    client.create(COMMANDS, body, namespace=target.namespace)
    print(f"{verb} job {target.name} successfully")
    return EXIT_OK


def remove(client: Client, target: Target, *, verb: str) -> int:
    """Delete a job and report it with the verb of the command that was used."""
    with expected(target, "job"):
        client.delete(JOBS, target.name, namespace=target.namespace)
    print(f"{verb} job {target.name} successfully")
    return EXIT_OK


def command_for(obj: JsonObject, resource: Resource, *, action: str) -> JsonObject:
    """A Command for a controller. Its target owns it, so that it is deleted with the target."""
    name = metadata(obj)["name"]
    target = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": name,
        "uid": metadata(obj)["uid"],
        "controller": True,
    }
    return {
        "apiVersion": COMMANDS.api_version,
        "kind": COMMANDS.kind,
        "metadata": {
            # A generated name allows several commands for one object at the same time.
            "generateName": f"{name}-{action.lower()}-",
            "ownerReferences": [target],
        },
        "action": action,
        "target": target,
    }

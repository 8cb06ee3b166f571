"""`vcctl job run` and `vsub`: run a job with one task from flags, or the jobs of a file."""

import argparse
from pathlib import Path
from typing import Final, NamedTuple

from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.connection import connect
from vc.cli.vcctl.api.errors import EXIT_OK, UsageError
from vc.cli.vcctl.api.resources import DEFAULT_NAMESPACE, JOBS, JsonObject, metadata

JOB_LABEL: Final = "job.volcano.sh"


class JobFlags(NamedTuple):
    """A job as described by flags."""

    name: str
    namespace: str
    image: str
    minimum: int
    replicas: int
    requests: str
    limits: str
    scheduler: str
    command: str = ""


def run(arguments: argparse.Namespace) -> int:
    """The command `job run`."""
    if arguments.filename:
        return run_file(arguments)
    flags = JobFlags(
        name=arguments.words or arguments.name,
        namespace=arguments.namespace or DEFAULT_NAMESPACE,
        image=arguments.image,
        minimum=arguments.min,
        replicas=arguments.replicas,
        requests=arguments.requests,
        limits=arguments.limits,
        scheduler=arguments.scheduler,
    )
    manifest = job_of(flags)
    return submit(connect(arguments), manifest, namespace=flags.namespace)


def run_file(arguments: argparse.Namespace, *, usual: str = DEFAULT_NAMESPACE) -> int:
    """Create every job of the file. A name on the command line is allowed for a single job only.

    The namespace of the file takes precedence over the `usual` namespace.
    """
    from vc.cli.vcctl.commands.files import read_documents

    jobs = [d for d in read_documents([Path(arguments.filename)]) if _is_job(d)]
    if not jobs:
        raise UsageError(f"{arguments.filename}: there is no {JOBS.api_version} {JOBS.kind} in it")
    name = arguments.words or arguments.name
    # The second job would be rejected after the first one was created.
    if name and len(jobs) > 1:
        raise UsageError(f"{arguments.filename}: {len(jobs)} jobs cannot all be called {name!r}")
    client = connect(arguments)
    for job in jobs:
        found = {**metadata(job), **({"name": name} if name else {})}
        namespace = arguments.namespace or found.get("namespace") or usual
        submit(client, {**job, "metadata": {**found, "namespace": namespace}}, namespace=namespace)
    return EXIT_OK


def _is_job(document: JsonObject) -> bool:
    return (document.get("apiVersion"), document.get("kind")) == (JOBS.api_version, JOBS.kind)


def submit(client: Client, manifest: JsonObject, *, namespace: str) -> int:
    """Create the job and print a message."""
    made = client.create(JOBS, manifest, namespace=namespace)
    print(f"run job {metadata(made).get('name', '')} successfully")
    return EXIT_OK


def job_of(flags: JobFlags) -> JsonObject:
    """The manifest of a job."""
    if not flags.name:
        raise UsageError("a job needs a name: write it, or -N NAME, or -f FILE")
    requests, limits = resources_of(flags.requests), resources_of(flags.limits)
    container: JsonObject = {
        "name": flags.name,
        "image": flags.image,
        # The same as in Volcano's vcctl.
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": requests, "limits": limits},
    }
    if flags.command:
        container["command"] = words_of(flags.command)
    template = {
        "metadata": {"name": flags.name, "labels": {JOB_LABEL: flags.name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": flags.name, "namespace": flags.namespace},
        "spec": {
            "minAvailable": flags.minimum,
            "schedulerName": flags.scheduler,
            "tasks": [{"replicas": flags.replicas, "template": template}],
        },
    }


def resources_of(text: str) -> dict[str, str]:
    """Parse `cpu=1000m,memory=100Mi` into a resource list. The server validates the amounts."""
    amounts: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        resource, equals, amount = part.partition("=")
        if not equals or not resource.strip() or not amount.strip():
            raise UsageError(f"{part!r} is not an amount; write one like cpu=500m,memory=1Gi")
        amounts[resource.strip()] = amount.strip()
    return amounts


def words_of(command: str) -> list[str]:
    """Split a command line like a shell."""
    import shlex

    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command {command!r}: {error}") from None

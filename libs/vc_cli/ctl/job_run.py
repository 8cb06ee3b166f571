"""`vcctl job run` and `vsub`: a job of one task from flags, or whatever a file says."""

import argparse
from pathlib import Path
from typing import Final, NamedTuple

from vc_cli.ctl.client import Client
from vc_cli.ctl.errors import EXIT_OK, UsageError
from vc_cli.ctl.resources import DEFAULT_NAMESPACE, JOBS, JsonObject, metadata
from vc_cli.ctl.session import connect

JOB_LABEL: Final = "job.volcano.sh"


class Wish(NamedTuple):
    """A job as flags describe it."""

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
    """`job run`."""
    if arguments.filename:
        return run_file(arguments)
    wish = Wish(
        name=arguments.words or arguments.name,
        namespace=arguments.namespace or DEFAULT_NAMESPACE,
        image=arguments.image,
        minimum=arguments.min,
        replicas=arguments.replicas,
        requests=arguments.requests,
        limits=arguments.limits,
        scheduler=arguments.scheduler,
    )
    manifest = job_of(wish)
    return submit(connect(arguments), manifest, namespace=wish.namespace)


def run_file(arguments: argparse.Namespace, *, usual: str = DEFAULT_NAMESPACE) -> int:
    """Every job of the file; a name on the command line is for a single one.

    What the file says counts more than the `usual` namespace.
    """
    from vc_cli.ctl.files import read_documents

    jobs = [d for d in read_documents([Path(arguments.filename)]) if _is_job(d)]
    if not jobs:
        raise UsageError(f"{arguments.filename}: there is no {JOBS.api_version} {JOBS.kind} in it")
    name = arguments.words or arguments.name
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
    """Create it and say so."""
    made = client.create(JOBS, manifest, namespace=namespace)
    print(f"run job {metadata(made).get('name', '')} successfully")
    return EXIT_OK


def job_of(wish: Wish) -> JsonObject:
    """The manifest."""
    if not wish.name:
        raise UsageError("a job needs a name: write it, or -N NAME, or -f FILE")
    requests, limits = resources_of(wish.requests), resources_of(wish.limits)
    container: JsonObject = {
        "name": wish.name,
        "image": wish.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": requests, "limits": limits},
    }
    if wish.command:
        container["command"] = words_of(wish.command)
    template = {
        "metadata": {"name": wish.name, "labels": {JOB_LABEL: wish.name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": wish.name, "namespace": wish.namespace},
        "spec": {
            "minAvailable": wish.minimum,
            "schedulerName": wish.scheduler,
            "tasks": [{"replicas": wish.replicas, "template": template}],
        },
    }


def resources_of(text: str) -> dict[str, str]:
    """`cpu=1000m,memory=100Mi` as a resource list; the server judges the amounts."""
    amounts: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        resource, equals, amount = part.partition("=")
        if not equals or not resource.strip() or not amount.strip():
            raise UsageError(f"{part!r} is not an amount; write one like cpu=500m,memory=1Gi")
        amounts[resource.strip()] = amount.strip()
    return amounts


def words_of(command: str) -> list[str]:
    """A command line as a shell would split it."""
    import shlex

    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command {command!r}: {error}") from None

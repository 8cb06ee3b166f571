"""`vcctl simulate -f FILE`: what would happen on the current cluster; nothing is changed.

The dashboard runs the scheduler's own cycle. The exit code is 0 if all given jobs would run, and 1
if one would be rejected or would wait.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vc.cli.tables import printable
from vc.cli.vcctl.api.dashboard import dashboard_of
from vc.cli.vcctl.api.errors import EXIT_FAILED, EXIT_OK, UsageError
from vc.cli.vcctl.api.resources import JsonObject
from vc.cli.vcctl.commands.files import read_documents
from vc.cli.vcctl.output.output import print_answer
from vc.cli.vcctl.output.reasons import reason_lines, table_lines

PODS_SHOWN_MAX: Final = 20
_JOB: Final = "Job"


def simulate(arguments: argparse.Namespace) -> int:
    """Send the request and print the result."""
    request = request_of(arguments)
    found = dashboard_of(arguments).query("/api/v1/what-if", body=request)
    if arguments.output:
        print_answer(found, arguments.output)
    else:
        for line in lines(found):
            print(line)
    requested = sum(document.get("kind") == _JOB for document in request["documents"])
    # The response lists the given jobs first; further jobs do not affect the exit code.
    jobs: list[JsonObject] = found.get("jobs") or []
    good = not found.get("refused") and all(job["runs"] for job in jobs[:requested])
    return EXIT_OK if good else EXIT_FAILED


def request_of(arguments: argparse.Namespace) -> JsonObject:
    """The request body: manifests, additional nodes, dropped jobs."""
    paths = [*arguments.queue_file, *arguments.filename]
    documents = [_in_namespace(d, arguments.namespace) for d in read_documents(map(Path, paths))]
    request: JsonObject = {"documents": documents, "dropJobs": list(arguments.drop_job)}
    # Alone the option would have no effect, which is probably a mistake.
    if arguments.like and not arguments.add_nodes:
        raise UsageError("--like says what the nodes of --add-nodes are like; write how many")
    if arguments.add_nodes:
        request["addNodes"] = {"count": arguments.add_nodes, "like": arguments.like}
    if not (documents or arguments.add_nodes or arguments.drop_job):
        raise UsageError("nothing to try: write -f FILE, --queue-file, --add-nodes or --drop-job")
    return request


def _in_namespace(document: JsonObject, namespace: str) -> JsonObject:
    metadata = document.get("metadata")
    # Only jobs get the default namespace; other documents are sent as they are.
    if document.get("kind") != _JOB or not isinstance(metadata, dict) or metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def lines(found: JsonObject) -> Iterator[str]:
    """The lines of the result."""
    refused = found.get("refused") or []
    if refused:
        yield "admission would refuse it:"
        yield from (f"  {printable(str(problem))}" for problem in refused)
        return
    jobs: list[JsonObject] = found.get("jobs") or []
    for number, job in enumerate(jobs):
        if number:
            yield ""
        yield from _job_lines(job)
    if not jobs:
        yield "no job would start that does not start anyway"
    yield ""
    # The simulation is bounded; decisions after the last session are unknown.
    if not found.get("stable"):
        yield f"note: still changing after {found.get('sessions')} sessions"
    yield from (f"note: {printable(str(note))}" for note in found.get("notes") or [])
    yield f"({_sessions(int(found.get('sessions') or 0))}, with {found.get('basis')})"
    if found.get("stale"):
        yield f"note: this may be old: {found['stale']}"


def _sessions(count: int) -> str:
    return "no session would change anything" if not count else f"stable after {count} sessions"


def _job_lines(job: JsonObject) -> Iterator[str]:
    name = f"job {job['namespace']}/{job['name']}"
    placed: list[JsonObject] = job.get("placements") or []
    total = int(job.get("placementsTotal") or 0)
    if not job.get("runs"):
        position = job.get("position") or 0
        yield f"{name}: would wait" + (f", number {position} in its queue" if position else "")
        if isinstance(job.get("reason"), dict):
            yield from reason_lines(job["reason"])
    else:
        yield f"{name}: would run, {total} pods"
    if placed:
        rows = [[str(p["pod"]), str(p["node"])] for p in placed[:PODS_SHOWN_MAX]]
        yield from table_lines(("Pod", "Node"), rows)
        yield from _more(total - len(rows))
    victims: list[JsonObject] = job.get("victims") or []
    if victims:
        yield f"would evict {len(victims)} pods:"
        cells = [[str(v["pod"]), str(v["group"]), str(v["node"])] for v in victims[:PODS_SHOWN_MAX]]
        yield from table_lines(("Pod", "Of", "Node"), cells)
        yield from _more(len(victims) - len(cells))


def _more(left: int) -> Iterator[str]:
    if left > 0:
        yield f"… and {left} more"

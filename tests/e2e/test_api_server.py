"""A real kube-apiserver: restarted in the middle of work, and asked how much we write.

The count comes from its own audit log: every request that changed something, by verb and resource and
by who sent it. Leases and the counters of queues are told apart: they cost by the second, whether there
is much work or little. Requests that the server refused or that ran out of time wrote nothing; how many
there were is told.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.scenario import MARKS, on_kubernetes
from tests.e2e.workload import gang, numbered

pytestmark = MARKS

RESTARTS = 3
JOBS = 10
COMPLETE_SECONDS_MAX = 180.0

COUNTED_JOBS = 5
COUNTED_PODS = 10
WRITES_PER_POD_MAX = 2
WRITES_PER_JOB_MAX = 20
"""The small constant, whatever the number of pods. Made and removed again: pod group, service, config
map, policy (8). Status of the job (4 or 5) and of its pod group (3), the event Scheduled on both (2), more
on a machine so slow that their counters change over several seconds."""
BY_THE_SECOND = "queues/status"
WRITING_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})
ACCEPTED_BELOW = 300
OUR_AGENT = "pyroclast/"
OUR_TEST = "pyroclast/e2e"


@pytest.mark.timeout(600)
@on_kubernetes
async def test_the_api_server_is_restarted(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    plane = deployment.ground.plane
    assert plane is not None
    for restart in range(RESTARTS):
        for number in range(JOBS):
            await deployment.submit(numbered(f"restart-{restart}", number))
        await plane.apiserver.restart()
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    await deployment.verdict("API server restarted", faults=f"{RESTARTS} restarts", since=since)


@pytest.mark.timeout(600)
@on_kubernetes
@pytest.mark.gate
async def test_a_pod_costs_two_writes(deployment: Deployment) -> None:
    since = deployment.clock.monotonic()
    plane = deployment.ground.plane
    assert plane is not None
    assert plane.audit_log is not None
    await deployment.ready()
    begin = plane.audit_log.stat().st_size
    for number in range(COUNTED_JOBS):
        await deployment.submit(gang(f"counted-{number}", pods=COUNTED_PODS, cpu="500m"))
    await deployment.completed(seconds_max=COMPLETE_SECONDS_MAX)
    writes, refused = writes_in(plane.audit_log, begin=begin)
    pods = COUNTED_JOBS * COUNTED_PODS
    for (agent, verb, resource), count in sorted(writes.items()):
        print(f"  {agent:<22} {verb:<7} {resource:<28} {count:>5}")
    per_pod = sum(n for (_, _, resource), n in writes.items() if resource.startswith("pods"))
    timed = sum(n for (_, _, resource), n in writes.items() if resource == BY_THE_SECOND)
    others = writes.total() - per_pod - timed
    await deployment.verdict(
        "API writes on the happy path",
        faults=f"{per_pod / pods:.2f} per pod and {others / COUNTED_JOBS:.1f} per job, {timed} "
        f"of queue counters, {refused} refused",
        since=since,
    )
    assert per_pod <= WRITES_PER_POD_MAX * pods
    assert others <= WRITES_PER_JOB_MAX * COUNTED_JOBS


def writes_in(log: Path, *, begin: int) -> tuple[Counter[tuple[str, str, str]], int]:
    """Writes of our services since that place in the log, by agent, verb and resource; and the refused."""
    found: Counter[tuple[str, str, str]] = Counter()
    refused = 0
    with log.open("rb") as file:
        file.seek(begin)
        for line in file:
            entry = json.loads(line)
            agent: str = entry.get("userAgent", "")
            about = entry.get("objectRef", {})
            resource = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
            ours = agent.startswith(OUR_AGENT) and agent != OUR_TEST
            if not ours or entry["verb"] not in WRITING_VERBS or resource == "leases":
                continue
            if entry["responseStatus"]["code"] < ACCEPTED_BELOW:
                found[agent.removeprefix(OUR_AGENT), entry["verb"], resource] += 1
            else:
                refused += 1
    return found, refused

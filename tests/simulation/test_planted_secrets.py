"""What tenants write into templates stays with the API server.

A job, a plain pod and a replica set carry a secret in every place that takes free text. They run to
their end through all services, and then every topic, the snapshot cache, the logs at debug level, the
spans, the metrics and the events are searched. The pods themselves must have every one of them: a
template that lost something on its way would be clean as well.
"""

import logging
from typing import Any

import msgspec
import pytest
from prometheus_client import generate_latest

from tests.builders.planted import Planted, unpacked
from tests.simulation.stack import CORE, Stack, gang_job
from tests.simulation.test_key_material import everything_on
from tests.simulation.traces import Traces
from vc.clock import run_virtual
from vc.model.api.kinds import CLAIMS, EVENTS, PODS, REPLICASETS, Kind
from vc.model.api.struct import JsonObject

SERVICES = (*CORE, "plugin-svc", "plugin-ssh", "podgroup-controller")
OWN_KEY = "MIIEowIBAAKCAQEAverysecretmaterialofauser"
SECONDS_MAX = 120


def planted_job(planted: Planted) -> JsonObject:
    """With a volume of its own, and a key among the arguments."""
    job = planted.job(gang_job("tenant", replicas=2, run_seconds=15, plugins={"svc": []}))
    job["spec"]["volumes"] = [{"mountPath": "/data", "volumeClaim": planted.claim("claim")}]
    job["spec"]["plugins"]["ssh"] = [f"--ssh-private-key={OWN_KEY}", "--ssh-public-key=ssh-rsa A"]
    planted.secrets["private key"] = OWN_KEY
    return job


def plain_pod(planted: Planted, name: str) -> JsonObject:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {"sim.pyroclast.io/run-seconds": "2"}},
        "spec": {
            "schedulerName": "volcano",
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "example.com/work:1"}],
        },
    }
    planted.template(pod, at=name)
    return pod


def replica_set(planted: Planted) -> JsonObject:
    """Its controller is not there: it only has to be read."""
    template = plain_pod(planted, "template")
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web",
            "annotations": {"example.com/x": planted.text("annotation of the replica set")},
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {**template["metadata"], "labels": {"app": "web"}},
                "spec": {**template["spec"], "restartPolicy": "Always"},
            },
        },
    }


def stored(stack: Stack, kind: Kind) -> bytes:
    return b"".join(stack.api.list(stack.api.registry.for_kind(kind)).items)


def cached(stack: Stack) -> bytes:
    """Checkpoints and session records."""
    kept = stack.snapshot
    return b"".join((*kept._checkpoints.values(), *kept._sessions.values()))


def metrics_of(stack: Stack) -> bytes:
    found: list[bytes] = []
    for service in stack.running.values():
        context: Any = getattr(service, "_context", None)
        if context is not None:
            found.append(generate_latest(context.metrics))
    return b"".join(found)


def test_no_planted_secret_leaves_the_api_server(caplog: pytest.LogCaptureFixture) -> None:
    planted, traces = Planted(), Traces()
    job, alone, owner = planted_job(planted), plain_pod(planted, "alone"), replica_set(planted)

    async def main() -> None:
        async with Stack(services=SERVICES, traces=traces) as stack:
            await stack.submit(job)
            await stack.cluster.create(PODS, alone, namespace="default")
            await stack.cluster.create(REPLICASETS, owner, namespace="default")
            await stack.until(
                lambda: stack.job("tenant").status.running == 2, seconds=SECONDS_MAX, what="it runs"
            )
            made = stored(stack, PODS) + stored(stack, CLAIMS)
            for service in ("scheduler", "job-controller", "queue-controller", "watcher"):
                stack.kill(service)  # who takes over reads the cluster itself
            await stack.until(
                lambda: stack.job("tenant").status.state.phase == "Completed",
                seconds=SECONDS_MAX,
                what="the job completes",
            )
            wanted = {place for place in planted.secrets if place.startswith(("task", "alone"))}
            assert wanted <= set(planted.found_in(made)), "pods are as their authors wrote them"
            places = {
                "the bus": await everything_on(stack.bus),
                "the snapshot cache": cached(stack),
                "logs": "\n".join(r.getMessage() for r in caplog.records).encode(),
                "spans": repr(traces.spans).encode(),
                "metrics": metrics_of(stack),
                "events": stored(stack, EVENTS),
                "status": msgspec.json.encode(stack.job("tenant").status),
            }
            places["recorded sessions"] = unpacked(places["the snapshot cache"])
            assert b"tenant-worker-0" in places["recorded sessions"]
            assert all(places.values()), "nothing was searched"
            assert b"tenant-worker-0" in places["the bus"]
            assert b"default/tenant" in places["the bus"]
            found = {where: planted.found_in(content) for where, content in places.items()}
            assert {where: what for where, what in found.items() if what} == {}
            assert b"tenant-worker-0" in places["the snapshot cache"]
            assert stack.problems == []

    with caplog.at_level(logging.DEBUG):
        run_virtual(main())

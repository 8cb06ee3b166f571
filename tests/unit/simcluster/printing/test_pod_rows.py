"""What the STATUS column says about a pod."""

from typing import Final

import msgspec
import pytest

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.printing.pods import pod_cells, pod_status


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's status and the word kubectl shows."""

    id: str
    status: JsonObject
    metadata: JsonObject = {}
    spec: JsonObject = {}
    word: str


def _container(**state: Json) -> JsonObject:
    return {"name": "c", "state": state}


_CASES: Final = (
    Case(id="nothing is known", status={}, word="Unknown"),
    Case(id="the phase by itself", status={"phase": "Pending"}, word="Pending"),
    Case(
        id="a reason goes before the phase",
        status={"phase": "Failed", "reason": "Evicted"},
        word="Evicted",
    ),
    Case(
        id="a container waits",
        status={
            "phase": "Pending",
            "containerStatuses": [_container(waiting={"reason": "ContainerCreating"})],
        },
        word="ContainerCreating",
    ),
    Case(
        id="a container ended with a code and no reason",
        status={"phase": "Failed", "containerStatuses": [_container(terminated={"exitCode": 3})]},
        word="ExitCode:3",
    ),
    Case(
        id="a container was killed by a signal",
        status={"phase": "Failed", "containerStatuses": [_container(terminated={"signal": 9})]},
        word="Signal:9",
    ),
    Case(
        id="one container completed, another runs",
        status={
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                _container(terminated={"reason": "Completed"}),
                {"name": "d", "ready": True, "state": {"running": {"startedAt": "x"}}},
            ],
        },
        word="Running",
    ),
    Case(
        id="an init container is due",
        spec={"initContainers": [{"name": "i"}, {"name": "j"}]},
        status={
            "phase": "Pending",
            "initContainerStatuses": [_container(terminated={"exitCode": 0}), _container()],
        },
        word="Init:1/2",
    ),
    Case(
        id="an init container failed",
        spec={"initContainers": [{"name": "i"}]},
        status={
            "phase": "Pending",
            "initContainerStatuses": [_container(terminated={"exitCode": 1, "reason": "Error"})],
        },
        word="Init:Error",
    ),
    Case(
        id="on its way out",
        metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
        status={"phase": "Running"},
        word="Terminating",
    ),
    Case(
        id="a gate holds it back",
        status={
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}],
        },
        word="SchedulingGated",
    ),
)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.id)
def test_the_status_of_a_pod(case: Case) -> None:
    pod = {"metadata": case.metadata, "spec": case.spec, "status": case.status}
    assert pod_status(pod) == case.word


def test_a_row_has_readiness_restarts_and_place() -> None:
    pod: JsonObject = {
        "metadata": {"name": "p", "creationTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "n1"},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.7",
            "containerStatuses": [
                {
                    "name": "a",
                    "ready": True,
                    "restartCount": 2,
                    "state": {"running": {}},
                    "lastState": {"terminated": {"finishedAt": "1970-01-01T00:00:40Z"}},
                }
            ],
        },
    }
    assert pod_cells(pod, 100.0) == [
        "p", "1/2", "Running", "2 (60s ago)", "100s", "10.0.0.7", "n1", "<none>", "<none>",
    ]  # fmt: skip

"""`vcctl job timeline`: what it tells of a job does not change when pods come and go."""

from typing import Any

from tests.unit.vcctl.test_shown import at, job
from vc.cli.vcctl.commands.jobs import timeline

RAN = (("Pending", 1), ("Running", 4), ("Completed", 9))


def conditions(*steps: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"status": status, "lastTransitionTime": at(second)} for status, second in steps]


def pod(made: int, bound: int = 0) -> dict[str, Any]:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(bound)}
    return {
        "metadata": {"creationTimestamp": at(made)},
        "spec": {"nodeName": f"n{made}"} if bound else {},
        "status": {"conditions": [scheduled] if bound else []},
    }


def rows(steps: list[timeline.Step]) -> list[tuple[str, str, str]]:
    return [(step.time[-3:-1], step.step, step.detail) for step in steps]


def test_a_job_that_ran_tells_what_was_recorded_whatever_pods_there_are_now() -> None:
    """A drain took its pods: some were made again later, elsewhere, or none is left."""
    record = f"made={at(2)},bound={at(3)},ran={at(4)},pods=3,nodes=2"
    ran = job("Running", conditions=conditions(*RAN[:2]), controlledResources={"run-1": record})
    group = {"metadata": {"name": "j", "creationTimestamp": at(1)}}
    wanted = [
        ("00", "submitted", "to queue q"),
        ("01", "admitted", "pod group made"),
        ("02", "enqueued", "3 pods made"),
        ("03", "bound", "on 2 nodes"),
        ("04", "running", ""),
    ]
    before_drain = [pod(2, 3), pod(2, 3), pod(2, 3)]
    for groups, pods in (
        ([group], before_drain),
        ([group], [pod(2, 3), pod(30, 31), pod(30)]),
        ([], []),
    ):
        assert rows(timeline.steps_of(ran, groups=groups, pods=pods)) == wanted


def test_a_job_that_was_restarted_keeps_its_first_run() -> None:
    """The condition Running has only the newest time; the records have all."""
    noted = {
        "run-1": f"made={at(2)},bound={at(3)},ran={at(4)},pods=2,nodes=2",
        "run-2": f"made={at(21)},bound={at(22)},ran={at(23)},pods=2,nodes=1",
        "alive-worker": "0-1",
    }
    steps = (("Restarting", 20), ("Pending", 21), ("Running", 23))
    again = job("Running", conditions=conditions(*steps), controlledResources=noted)
    told = rows(timeline.steps_of(again, groups=[], pods=[]))
    assert [row for row in told if row[1] in ("enqueued", "bound", "running")] == [
        ("02", "enqueued", "2 pods made"),
        ("03", "bound", "on 2 nodes"),
        ("04", "running", ""),
        ("21", "enqueued", "2 pods made, run 2"),
        ("22", "bound", "on 1 node, run 2"),
        ("23", "running", "run 2"),
    ]
    assert ("20", "restarting", "") in told


def test_a_job_that_waits_tells_of_the_pods_it_has_so_far() -> None:
    waits = job("Pending", conditions=conditions(("Pending", 1)))
    told = rows(timeline.steps_of(waits, groups=[], pods=[pod(2, 3), pod(2)]))
    assert told[2:] == [
        ("02", "enqueued", "2 pods so far"),
        ("03", "bound", "1 of 2 pods, on 1 node, so far"),
    ]


def test_a_job_of_another_controller_tells_when_a_step_was_taken_at_the_latest() -> None:
    """Its pods are not asked: they may not be the ones that ran."""
    ended = job("Completed", conditions=conditions(*RAN))
    for pods in ([], [pod(40, 41)]):
        assert rows(timeline.steps_of(ended, groups=[], pods=pods)) == [
            ("00", "submitted", "to queue q"),
            ("01", "admitted", "pod group made"),
            ("04", "enqueued", "at the latest; its controller recorded no times"),
            ("04", "bound", "at the latest; its controller recorded no times"),
            ("04", "running", ""),
            ("09", "completed", "ended"),
        ]


def test_no_step_is_shown_before_the_submission() -> None:
    """Its controller's estimate of the API server's clock was a second behind."""
    ran = job("Running", conditions=conditions(("Pending", 1), ("Running", 4)))
    ran["metadata"]["creationTimestamp"] = at(2)
    steps = timeline.steps_of(ran, groups=[], pods=[])
    assert rows(steps)[:2] == [
        ("02", "submitted", "to queue q"),
        ("02", "admitted", "pod group made"),
    ]

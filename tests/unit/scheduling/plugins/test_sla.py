"""sla: jobs that have waited long enough go first and are enqueued."""

import msgspec
import pytest

from tests.unit.scheduling.objects import EPOCH, gang, group, nodes, pod, priority_class, queue
from tests.unit.scheduling.world import World
from vc.model.api.meta import ApiObject
from vc.scheduling.conf.arguments import seconds
from vc.scheduling.conf.model import Conf, PluginConf

REST = tuple(
    PluginConf(name=n) for n in ("overcommit", "drf", "predicates", "proportion", "nodeorder")
)


def conf(waiting: str = "", *, tier: int = 0) -> Conf:
    sla = PluginConf(name="sla", arguments={"sla-waiting-time": waiting} if waiting else {})
    first = (PluginConf(name="gang"),)
    return Conf(tiers=((sla, *first), REST) if tier == 0 else (first, (*REST, sla)))


def waiting(name: str, *, age: int, annotation: str = "", cpu: int = 1) -> list[ApiObject]:
    """A job that waits to be enqueued; created an hour and `age` seconds ago."""
    made = gang(name, 1, cpu=cpu, age=age, phase="Pending", min_resources={"cpu": str(cpu)})
    metadata = made[0].metadata
    if annotation:
        noted = {"volcano.sh/sla-waiting-time": annotation}
        made[0] = msgspec.structs.replace(
            made[0], metadata=msgspec.structs.replace(metadata, annotations=noted)
        )
    return made


def test_a_job_is_let_in_when_its_time_is_up_and_a_session_opens_then() -> None:
    """The cluster has enqueued as much as it can run; no other job is enqueued."""
    world = World(
        queue(), nodes(1, cpu=1), waiting("large", age=0, annotation="2h", cpu=9), conf=conf()
    )
    decisions = world.decide()
    assert decisions.enqueued == ()
    assert decisions.wake_at == EPOCH + 3600
    world.now += 3599
    assert world.decide().enqueued == ()
    world.now += 1
    assert world.decide().enqueued == ("ns/large",)


def test_a_job_whose_time_is_up_keeps_a_partial_reservation_and_preempts_for_the_rest() -> None:
    """Of its two pods one fits beside `low`; that reservation is kept from `late`, and `low` is evicted for the rest."""
    sla = PluginConf(name="sla", arguments={"sla-waiting-time": "1s"})
    gang_too = tuple(PluginConf(name=name) for name in ("priority", "gang", "conformance"))
    world = World(
        queue(), priority_class("high", 9), nodes(1, cpu=8),
        group("low", minimum=1, phase="Running"), pod("low-0", group="low", requests={"cpu": "4"}, on="node-01"),
        gang("overdue", 2, cpu=4, priority_class="high"),
        conf=Conf(tiers=((sla,), gang_too, REST)),
    )  # fmt: skip
    decisions = world.session()
    assert [p.name for e in decisions.evictions for p in e.pods] == ["low-0"]
    world.leave()
    world.session()
    assert world.bound("overdue") == 2


def test_it_keeps_a_partial_reservation_when_no_pod_may_be_evicted() -> None:
    sla = PluginConf(name="sla", arguments={"sla-waiting-time": "2h"})
    gang_too = tuple(PluginConf(name=name) for name in ("priority", "gang", "conformance"))
    protected = {"volcano.sh/preemptable": "false"}
    world = World(
        queue(), priority_class("high", 9), nodes(1, cpu=8),
        group("low", minimum=1, phase="Running"),
        pod("low-0", group="low", requests={"cpu": "3"}, on="node-01", annotations=protected),
        pod("idle-job-0", group="idle-job", requests={"cpu": "1"}, on="node-01"),
        group("idle-job", minimum=1, phase="Running"),
        gang("overdue", 2, cpu=4, priority_class="high", age=7200),
        group("nothing", minimum=1), pod("nothing-0", group="nothing"),
        gang("late", 1, cpu=4),
        conf=Conf(tiers=((sla,), gang_too, REST)),
    )  # fmt: skip
    decisions = world.session()
    assert (decisions.evictions, world.bound("late"), world.bound("nothing")) == ((), 0, 1)
    said = [queue.allocated for queue in decisions.queues]
    assert [amounts["cpu"] for amounts in said] == ["4"], "what is only held is not what it has"


def test_without_the_plugin_it_waits_on() -> None:
    world = World(queue(), nodes(1, cpu=1), waiting("large", age=0, annotation="1s", cpu=9))
    assert world.decide().enqueued == ()


def test_whose_time_is_up_first_goes_first() -> None:
    jobs = [
        *waiting("old", age=500),
        *waiting("patient", age=400, annotation="48h"),
        *waiting("urgent", age=0, annotation="1h"),
    ]
    world = World(queue(), nodes(1, cpu=1), jobs, conf=conf())
    world.session()
    assert [name for name in ("old", "patient", "urgent") if world.bound(name)] == ["urgent"]
    world = World(queue(), nodes(1, cpu=1), jobs)
    world.session()
    assert world.bound("old") == 1


def test_the_argument_counts_for_jobs_that_say_nothing() -> None:
    world = World(queue(), nodes(1, cpu=1), waiting("large", age=0, cpu=9), conf=conf("30m"))
    assert world.decide().enqueued == ("ns/large",)


def test_after_plugins_that_refuse_it_enqueues_no_job() -> None:
    given = conf("1s", tier=1)
    world = World(queue(), nodes(1, cpu=1), waiting("large", age=0, cpu=9), conf=given)
    assert world.decide().enqueued == ()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1h30m", 5400.0), ("90s", 90.0), ("1.5h", 5400.0), ("100ms", 0.1), ("", None), ("soon", None),
        ("5", None), ("-5s", None), ("1h ", 3600.0), ("1d", None), ("999999999999h", 10 * 365 * 24 * 3600.0),
    ],
)  # fmt: skip
def test_durations_as_go_writes_them(text: str, read: float | None) -> None:
    assert seconds(text) == pytest.approx(read)


def test_a_broken_annotation_counts_as_none() -> None:
    world = World(
        queue(), nodes(1, cpu=1), waiting("odd", age=0, annotation="soon", cpu=9), conf=conf()
    )
    decisions = world.decide()
    assert decisions.enqueued == ()
    assert decisions.wake_at is None or decisions.wake_at > EPOCH

"""cdp: a pod is not evicted during its cooldown, and the end of the cooldown is a registered wake-up."""

import msgspec
import pytest

from tests.unit.scheduling.actions.test_preempt import CLASSES, asking, running
from tests.unit.scheduling.objects import EPOCH, node, queue
from tests.unit.scheduling.world import World
from vc.model.api.keys import COOLDOWN_TIME
from vc.model.api.meta import ApiObject
from vc.model.api.pod import Pod, PodCondition
from vc.model.values.times import format_time
from vc.scheduling.conf.model import Conf, PluginConf

COOLDOWN = 600.0
WITH_CDP = Conf(tiers=((PluginConf(name="cdp"), *Conf().tiers[0]), Conf().tiers[1]))


def protected(objects: list[ApiObject], *, on: str, written: str = "10m") -> list[ApiObject]:
    """The pods among them with a cooldown, bound when the world begins."""
    scheduled = PodCondition(
        type="PodScheduled", status="True", last_transition_time=format_time(EPOCH)
    )
    made: list[ApiObject] = []
    for plain in objects:
        if isinstance(plain, Pod):
            notes = {**getattr(plain.metadata, on), COOLDOWN_TIME: written}
            plain = msgspec.structs.replace(
                plain,
                metadata=msgspec.structs.replace(plain.metadata, **{on: notes}),
                status=msgspec.structs.replace(plain.status, conditions=[scheduled]),
            )
        made.append(plain)
    return made


def world(conf: Conf, *, on: str = "annotations", written: str = "10m") -> World:
    victims = protected(running("v", 2), on=on, written=written)
    made = World(queue(), CLASSES, [node("node-01", cpu=8)], victims, asking(), conf=conf)
    made.now = EPOCH + 1
    return made


@pytest.mark.parametrize("on", ["annotations", "labels"])
def test_a_victim_in_its_cooldown_stays_and_its_end_wakes_the_scheduler(on: str) -> None:
    there = world(WITH_CDP, on=on)
    decisions = there.session()
    assert not decisions.evictions
    assert decisions.wake_at is not None
    assert decisions.wake_at <= EPOCH + COOLDOWN
    for _ in range(100):
        if there.now >= EPOCH + COOLDOWN:
            break
        assert decisions.wake_at is not None, "a session that waits for time names it"
        there.now = decisions.wake_at
        decisions = there.session()
    assert there.now == EPOCH + COOLDOWN, "no session came too late"
    assert len(decisions.evictions) == 1


def test_without_the_plugin_the_annotation_protects_nothing() -> None:
    assert len(world(Conf()).session().evictions) == 1


@pytest.mark.parametrize("written", ["", "soon", "0s"])
def test_what_is_no_duration_protects_nothing(written: str) -> None:
    assert len(world(WITH_CDP, written=written).session().evictions) == 1

"""A third party's plugin: an entry point and a line in the configuration."""

import logging
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import numpy as np

from tests.unit.scheduler.objects import gang, nodes, queue
from tests.unit.scheduler.world import World
from vc_scheduler.extensions import PLUGINS_GROUP, register
from vc_scheduler.logic import plugins
from vc_scheduler.logic.conf import Conf, PluginConf
from vc_scheduler.logic.cycle import run_cycle
from vc_scheduler.logic.framework import Candidates
from vc_scheduler.logic.table import Ints

LOG = logging.getLogger("test-extensions")


class LastByName:
    """An example: the later in the alphabet the better."""

    name: ClassVar[str] = "last-by-name"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._weight = int(arguments.get("weight", "1"))

    def score(self, candidates: Candidates) -> Ints:
        rows, deep = candidates.form
        ranks = np.arange(rows, dtype=np.int64) * self._weight
        return np.repeat(ranks[:, None], deep, axis=1)


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=PLUGINS_GROUP)


def test_a_plugin_of_a_third_party_takes_part() -> None:
    registry: dict[str, Any] = {}
    added = register(registry, [point("last-by-name", f"{__name__}:LastByName")], LOG)
    assert added == ["last-by-name"]
    plugins.REGISTRY.update(registry)
    try:
        tiers = ((PluginConf(name="gang"), PluginConf(name="last-by-name")),)
        world = World(queue(), nodes(3), gang("g", 1, cpu=1), conf=Conf(tiers=tiers))
        decisions = run_cycle(world.snapshot(), world.conf, world.now)
        assert [bind.node for gang_bind in decisions.binds for bind in gang_bind.binds] == [
            "node-03"
        ]
    finally:
        del plugins.REGISTRY["last-by-name"]


def test_one_that_cannot_be_loaded_or_takes_a_name_is_left_out() -> None:
    registry: dict[str, Any] = {"gang": object()}
    found = [point("broken", "no.such.module:Plugin"), point("gang", f"{__name__}:LastByName")]
    assert register(registry, found, LOG) == []
    assert list(registry) == ["gang"]

"""Plugins and actions of third parties: an entry point and an entry in the configuration."""

import logging
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from tests.unit.scheduling.objects import gang, nodes, queue
from tests.unit.scheduling.world import World, reason_of
from vc.scheduler.configuration.extensions import PLUGINS_GROUP, load_extensions, register
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import Conf, PluginConf
from vc.scheduling.conf.volcano_file import read_conf
from vc.scheduling.cycle import run_cycle
from vc.scheduling.framework.node_points import NodeCandidates
from vc.scheduling.model.node_table import Ints

LOG = logging.getLogger("test-extensions")


class LastByName:
    """An example: the later in the alphabet the better."""

    name: ClassVar[str] = "last-by-name"

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._weight = int(arguments.get("weight", "1"))

    def batch_node_order_scores(self, candidates: NodeCandidates) -> Ints:
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


ACTION = '''
"""An example: an action that refuses all jobs of a namespace, whatever the others would do."""

from vc.scheduling.session.reasons import invalid


def keep_out(session):
    said = session.framework.action_arguments("keep-out")
    for group in session.snapshot.groups:
        if group.namespace == said.get("namespace"):
            session.refuse(group, invalid("kept out"))
'''

POINTS = """
[pyroclast.scheduler_actions]
keep-out = kept_out_example:keep_out

[pyroclast.scheduler_plugins]
last-by-name = tests.unit.scheduling.framework.test_extensions:LastByName
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution as pip leaves it: a module, and what it offers."""
    (tmp_path / "kept_out_example.py").write_text(ACTION)
    info = tmp_path / "kept_out_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kept-out-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(actions, "REGISTRY", dict(actions.REGISTRY))
    monkeypatch.setattr(plugins, "REGISTRY", dict(plugins.REGISTRY))


def test_what_is_installed_is_found_and_takes_part(
    installed: None, caplog: pytest.LogCaptureFixture
) -> None:
    assert sorted(load_extensions(LOG)) == ["keep-out", "last-by-name"]
    assert load_extensions(LOG) == [], "what is there already is no other's"
    assert "the name is taken" not in caplog.text
    text = (
        "actions: 'keep-out, enqueue, allocate'\n"
        "tiers:\n- plugins:\n  - name: gang\n  - name: last-by-name\n"
        "configurations:\n- name: keep-out\n  arguments: {namespace: ns}\n"
    )
    conf, warnings = read_conf(
        text, actions=tuple(actions.REGISTRY), plugins=tuple(plugins.REGISTRY)
    )
    assert warnings == [], "its arguments are its own"
    world = World(queue(), nodes(3), gang("g", 1, cpu=1), conf=conf)
    assert reason_of(world.session(), "g").sentence == "cannot be used: kept out"
    world.conf = msgspec.structs.replace(conf, configurations=())
    world.session()
    assert world.where() == {"g-worker-0": "node-03"}


def test_one_that_cannot_be_loaded_or_takes_a_name_is_left_out() -> None:
    registry: dict[str, Any] = {"gang": object()}
    found = [point("broken", "no.such.module:Plugin"), point("gang", f"{__name__}:LastByName")]
    assert register(registry, found, LOG) == []
    assert list(registry) == ["gang"]

"""The configuration in the ConfigMap: changed while running, and refused with a place and a reason."""

import asyncio
import logging
from pathlib import Path
from typing import Final

import msgspec
import pytest
from prometheus_client import generate_latest

from tests.unit.scheduler.shell import Shell
from vc.clock import run_virtual
from vc.model.api.kinds import CONFIGMAPS, EVENTS
from vc.model.api.kubernetes import ConfigMap
from vc.model.api.meta import ObjectMeta
from vc.model.api.struct import JsonObject
from vc.scheduler.config import Config
from vc.scheduler.configuration.conf_source import ConfSource
from vc.scheduling.conf.model import CONF_KEY, CONF_MAP, Conf

SYSTEM: Final = "volcano-system"
GOOD: Final = (
    "actions: 'enqueue, allocate'\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n"
)
TRAP: Final = "actions: 'enqueue, allocate'\ntiers:\n- plugins:\n  - name: predicates\n"
WRONG: Final = "actions: 'enqueue, alocate'\ntiers:\n- plugins:\n  - name: gang\n"


def conf_map(text: str | None, *, key: str = CONF_KEY) -> ConfigMap:
    return ConfigMap(
        metadata=ObjectMeta(name=CONF_MAP, namespace=SYSTEM, uid="map"),
        data={} if text is None else {key: text},
    )


def source(path: str = "") -> ConfSource:
    return ConfSource(Conf(), path, logging.getLogger("test-conf-map"))


def test_a_map_is_taken_over_and_its_end_brings_the_defaults_back() -> None:
    found = source()
    assert not found.see(None)
    assert found.see(conf_map(GOOD))
    assert found.conf.actions == ("enqueue", "allocate")
    assert [event.reason for event in found.take_events()] == ["ConfigurationChanged"]
    assert found.see(None)
    assert found.conf == Conf()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (conf_map(WRONG), "actions: 'alocate' is not known; there are"),
        (conf_map(GOOD, key="scheduler.conf"), f"key {CONF_KEY!r} is missing; there are: scheduler.conf"),
        (conf_map(None), "is missing; there are: none"),
        (conf_map("actions: [\n"), "not YAML"),
    ],
)  # fmt: skip
def test_a_wrong_map_changes_nothing_and_an_event_says_where(given: ConfigMap, said: str) -> None:
    found = source()
    found.see(conf_map(GOOD))
    found.take_events()
    assert not found.see(given)
    assert found.conf.actions == ("enqueue", "allocate")
    assert said in found.refused
    [event] = found.take_events()
    assert (event.type, event.reason, event.name) == ("Warning", "InvalidConfiguration", CONF_MAP)
    assert said in event.message
    assert found.see(conf_map(TRAP)) is True
    assert not found.refused


def test_warnings_are_reported_on_the_config_map() -> None:
    found = source()
    found.see(conf_map(TRAP))
    warned = [
        event.message for event in found.take_events() if event.reason == "ConfigurationWarning"
    ]
    assert any("gang is off" in message for message in warned)


def test_a_file_wins_over_the_map(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "conf"
    path.write_text(TRAP)
    found = source(str(path))
    found.look()
    assert not found.see(conf_map(GOOD))
    assert [plugin.name for plugin in found.conf.plugins] == ["predicates"]
    assert f"used={path}" in caplog.text
    assert not found.see(None), "its end changes nothing either"


def test_the_name_comes_from_the_environment() -> None:
    assert Config.from_env({}).conf_map == "volcano-scheduler-configmap"
    assert Config.from_env({"SCHEDULER_CONFIGMAP": "mine"}).conf_map == "mine"
    assert Config.from_env({"SCHEDULER_CONFIGMAP_KEY": "mine.conf"}).conf_key == "mine.conf"
    assert Config.from_env({"SCHEDULER_CONFIGMAP_KEY": ""}).conf_key == CONF_KEY


def test_the_key_of_the_config_map_may_be_another() -> None:
    found = ConfSource(Conf(), "", logging.getLogger("test-conf-map"), key="mine.conf")
    assert found.see(conf_map(GOOD, key="mine.conf"))
    assert not found.refused
    assert not found.see(conf_map(GOOD))
    assert "key 'mine.conf' is missing; there are: volcano-scheduler.conf" in found.refused


def events(shell: Shell) -> list[JsonObject]:
    listed = shell.api.list(shell.api.registry.for_kind(EVENTS), namespace=SYSTEM).items
    found = [msgspec.json.decode(raw) for raw in listed]
    return [event for event in found if event["involvedObject"]["name"] == CONF_MAP]


def test_the_shell_follows_the_config_map_and_reports_problems() -> None:
    async def main() -> None:
        async with Shell() as shell:
            await shell.nodes(1, cpu="4")
            body = {"metadata": {"name": CONF_MAP}, "data": {CONF_KEY: GOOD}}
            await shell.create(CONFIGMAPS, body, namespace=SYSTEM)
            await shell.gang("first", 2)
            await shell.until(lambda: shell.bound("first") == 2, "bound")
            scheduler = shell.schedulers[0]
            assert scheduler._conf.conf.actions == ("enqueue", "allocate")

            patch = {"data": {CONF_KEY: WRONG}}
            await shell.cluster.patch(CONFIGMAPS, patch, name=CONF_MAP, namespace=SYSTEM)
            await shell.until(
                lambda: any(e["reason"] == "InvalidConfiguration" for e in events(shell)),
                "an event",
            )
            metrics = generate_latest(scheduler._context.metrics).decode()
            assert "pyroclast_scheduler_conf_refused 1.0" in metrics
            await shell.gang("second", 2)
            await shell.until(lambda: shell.bound("second") == 2, "the old one goes on")

            await shell.cluster.delete(CONFIGMAPS, name=CONF_MAP, namespace=SYSTEM)
            await asyncio.sleep(1)
            assert scheduler._conf.conf == Conf()

    run_virtual(main())

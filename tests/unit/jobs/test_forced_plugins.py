"""Forced plugins: those of the built-in ones, and those that an announcement adds."""

import pytest

from vc.jobs.plugins.built_in import BUILT_IN_PLUGINS
from vc.jobs.plugins.forced import forced_by, with_forced
from vc.messages.plugins import PluginAnnouncement


@pytest.mark.parametrize(
    ("name", "forced"),
    [
        ("env", []),
        ("svc", []),
        ("ssh", []),
        ("pytorch", ["svc"]),
        ("mpi", ["ssh", "svc"]),
        ("tensorflow", ["svc"]),
        ("ray", ["svc"]),
        ("unknown", []),
    ],
)
def test_built_in_plugins_force_others_without_an_announcement(
    name: str, forced: list[str]
) -> None:
    assert forced_by(name, {}) == forced
    assert forced_by(name, BUILT_IN_PLUGINS) == forced


def test_an_announced_plugin_may_force_one_that_forces_others() -> None:
    announced = {"horovod": PluginAnnouncement(plugin="horovod", version="1", forces=["mpi"])}
    assert with_forced(["horovod"], announced) == ["horovod", "mpi", "ssh", "svc"]
    assert with_forced([], announced) == []


def test_plugins_that_force_each_other_are_listed_once() -> None:
    announced = {
        "a": PluginAnnouncement(plugin="a", version="1", forces=["b"]),
        "b": PluginAnnouncement(plugin="b", version="1", forces=["a"]),
    }
    assert with_forced(["a"], announced) == ["a", "b"]

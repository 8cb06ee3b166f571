"""What the built-in plugins announce, compared with the table that other services read."""

import pytest

from tests.builders.contexts import memory_context
from vc.cli.pyroclast.services import SERVICES, build_of
from vc.jobplugin.answers import MakesNothing
from vc.jobs.plugins.built_in import BUILT_IN_PLUGINS
from vc.messages.topics import PLUGINS


def test_every_plugin_service_is_in_the_table() -> None:
    assert {f"plugin-{name}" for name in PLUGINS} == {s for s in SERVICES if "plugin-" in s}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_announces_what_the_table_says(name: str) -> None:
    core = build_of(f"plugin-{name}")(memory_context(f"plugin-{name}"))._core  # type: ignore[attr-defined]
    assert core.announcement == BUILT_IN_PLUGINS[name]
    # The job-controller sends no removal request to a plugin that creates no objects.
    assert core.announcement.makes_nothing is isinstance(core, MakesNothing)

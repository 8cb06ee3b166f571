"""A job with an argument that its plugin does not know runs, and says so."""

import msgspec
import pytest

from tests.simulation.stack import CORE, Stack, gang_job
from vc.clock import run_virtual
from vc.model.api.kinds import EVENTS


@pytest.mark.parametrize("compat", ["lenient", "upstream"])
def test_an_unknown_argument_is_an_event_and_holds_nothing_up(
    compat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ssh: ["--no-root"]` used to wait for ever."""
    monkeypatch.setenv("PYROCLAST_COMPAT", compat)

    async def main() -> None:
        async with Stack(services=(*CORE, "plugin-ssh")) as stack:
            await stack.submit(
                gang_job("a", replicas=2, run_seconds=2, plugins={"ssh": ["--no-root"]})
            )
            await stack.until(
                lambda: stack.job("a").status.state.phase == "Completed",
                seconds=120,
                what="completed",
            )
            resource = stack.api.registry.for_kind(EVENTS)
            listed = [msgspec.json.decode(raw) for raw in stack.api.list(resource).items]
            told = [event["message"] for event in listed if event["reason"] == "PluginWarning"]
            assert len(told) == 1
            assert "plugin ssh: argument '--no-root' is not known and ignored" in told[0]
            assert stack.problems == []

    run_virtual(main())

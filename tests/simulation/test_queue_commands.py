"""Commands for queues through the queue-controller, with and without admission before it."""

import pytest

from tests.simulation.stack import Stack
from vc.clock import run_virtual
from vc.model.api.kinds import COMMANDS, QUEUES
from vc.model.api.struct import JsonObject

SERVICES = ("watcher", "queue-controller")
FROM = "QUEUE_CONTROLLER_COMMANDS_FROM"


def order(uid: str) -> JsonObject:
    return {
        "apiVersion": COMMANDS.api_version, "kind": COMMANDS.kind, "metadata": {"name": "close"},
        "action": "CloseQueue",
        "target": {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": "team", "uid": uid},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("namespace", "setting", "state"),
    [
        pytest.param("default", "", "Open", id="a tenant's, which nobody vets"),
        pytest.param("default", "vetted", "Closed", id="a tenant's that admission vetted"),
        pytest.param("volcano-system", "", "Closed", id="an administrator's"),
    ],
)
def test_a_command_counts_from_our_namespace_or_when_it_was_vetted(
    namespace: str, setting: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FROM, raising=False)
    if setting:
        monkeypatch.setenv(FROM, setting)

    async def main() -> None:
        async with Stack(services=SERVICES) as stack:
            team = {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "team"}}
            made = await stack.cluster.create(QUEUES, {**team, "spec": {"weight": 1}})
            queues = stack.api.registry.for_kind(QUEUES)

            def shown() -> str:
                status = stack.api.get(queues, name="team").get("status") or {}
                return str(status.get("state", ""))

            await stack.until(lambda: shown() == "Open", seconds=60, what="open")
            await stack.cluster.create(
                COMMANDS, order(made["metadata"]["uid"]), namespace=namespace
            )
            resource = stack.api.registry.for_kind(COMMANDS)
            await stack.until(
                lambda: not stack.api.list(resource).items, seconds=60, what="the command is gone"
            )
            await stack.clock.sleep(2)
            assert shown() == state
            assert stack.problems == []

    run_virtual(main())

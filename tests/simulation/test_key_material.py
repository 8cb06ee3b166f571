"""Private keys stay with the API server: in no record of any topic, in no log line, in no span.

Both kinds: a pair that the ssh plugin makes, and one that a user wrote into the plugin's arguments
(and that kubectl copied into an annotation).
"""

import base64
import json
import logging

import msgspec
import pytest

from tests.builders.planted import in_any_form
from tests.simulation.stack import CORE, Stack, gang_job
from tests.simulation.traces import Traces
from vc.bus.memory import MemoryBus
from vc.clock import run_virtual
from vc.messages.record import TopicPartition
from vc.messages.topics import ALL
from vc.model.api.keys import LAST_APPLIED
from vc.model.api.kinds import EVENTS, SECRETS
from vc.model.api.struct import JsonObject

SECRET = "MIIEowIBAAKCAQEAverysecretmaterialofauser"
PRIVATE = f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----\n"
POLL_RECORDS = 10_000


async def everything_on(bus: MemoryBus) -> bytes:
    """Keys, values and headers of every record of every topic."""
    found = b""
    for topic in ALL:
        ends = await bus.end_offsets(topic.name)
        starts = dict(enumerate(await bus.start_offsets(topic.name)))
        reader = await bus.reader({TopicPartition(topic.name, p): o for p, o in starts.items()})
        while records := await reader.poll(max_records=POLL_RECORDS, wait_seconds=0.01):
            for record in records:
                found += record.key.encode() + (record.value or b"") + str(record.headers).encode()
        await reader.close()
        assert sum(ends) == 0 or found
    return found


def secret_of(stack: Stack, name: str) -> JsonObject:
    resource = stack.api.registry.for_kind(SECRETS)
    return stack.api.get(resource, name=name, namespace="default")


@pytest.mark.parametrize("separate", [False, True], ids=["--flag=value", "--flag value"])
def test_no_key_is_on_the_bus_in_a_log_or_in_a_span(
    caplog: pytest.LogCaptureFixture, *, separate: bool
) -> None:
    private = ["--ssh-private-key", PRIVATE] if separate else [f"--ssh-private-key={PRIVATE}"]
    given = {"ssh": [*private, "--ssh-public-key=ssh-rsa AAAA user"], "svc": []}
    mine = gang_job("mine", replicas=2, run_seconds=3, plugins=given)
    mine["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(mine)}
    traces = Traces()

    async def main() -> None:
        services = (*CORE, "plugin-ssh", "plugin-svc")
        async with Stack(services=services, traces=traces) as stack:
            await stack.submit(mine)
            made = {"ssh": ["--ssh-key-type=ed25519"]}
            await stack.submit(gang_job("made", replicas=2, run_seconds=3, plugins=made))
            await stack.until(
                lambda: all(stack.job(name).status.running == 2 for name in ("mine", "made")),
                seconds=60,
                what="both run",
            )
            assert base64.b64decode(secret_of(stack, "mine-ssh")["data"]["id_rsa"]) == (
                PRIVATE.encode()
            )
            fresh = base64.b64decode(secret_of(stack, "made-ssh")["data"]["id_ed25519"]).decode()
            material = [SECRET, *fresh.splitlines()[1:-1]]
            await stack.until(
                lambda: all(
                    stack.job(name).status.state.phase == "Completed" for name in ("mine", "made")
                ),
                seconds=60,
                what="both complete",
            )
            events = stack.api.list(stack.api.registry.for_kind(EVENTS)).items
            told = {
                "the bus": await everything_on(stack.bus),
                "logs": "\n".join(r.getMessage() for r in caplog.records).encode(),
                "spans": repr(traces.spans).encode(),
                "events": msgspec.json.encode(events),
            }
            assert b"<redacted>" in told["the bus"]
            assert b"KeyInArguments" in b"".join(events)
            for where, text in told.items():
                for line in material:
                    assert not any(form in text for form in in_any_form(line)), where

    with caplog.at_level(logging.DEBUG):
        run_virtual(main())

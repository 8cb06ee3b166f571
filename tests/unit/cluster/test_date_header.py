"""The `Date` of every response reaches the clock; a missing or invalid one has no effect."""

from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.unit.cluster.scripted_server import (
    ScriptedServer,
    kubeconfig_text,
    refuses,
    says,
    streams,
)
from vc.clock import LoopClock, ServerClock
from vc.cluster import ForbiddenError, NoDateError
from vc.cluster.kubernetes import KubernetesCluster, connect
from vc.cluster.kubernetes_date import read_date
from vc.model.api.kinds import CONFIGMAPS, LEASES

BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
FAR = 2_000_000_000.0
DATE = {"Date": format_datetime(datetime.fromtimestamp(FAR, UTC), usegmt=True)}


async def follow(server: ScriptedServer, folder: Path) -> tuple[KubernetesCluster, ServerClock]:
    path = folder / "kubeconfig"
    path.write_text(kubeconfig_text(server.url))
    clock = ServerClock(LoopClock())
    cluster = await connect(
        service="unit", kubeconfig=str(path), environment={}, clock=clock, on_date=clock.observe
    )
    return cluster, clock


async def test_an_answer_sets_the_clock(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(says(BODY, headers=DATE))
    cluster, clock = await follow(server, tmp_path)
    assert not clock.known
    await cluster.get(CONFIGMAPS, name="a", namespace="n")
    assert FAR - 5 < clock.now() <= FAR + 1
    await cluster.close()


async def test_a_refusal_and_a_watch_set_it_too(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(refuses(403, "Forbidden", headers=DATE))
    cluster, clock = await follow(server, tmp_path)
    with pytest.raises(ForbiddenError):
        await cluster.get(CONFIGMAPS, name="a", namespace="n")
    assert FAR - 5 < clock.now() <= FAR + 1
    await cluster.close()
    server.script.clear()
    server.then(streams(b""))
    cluster, clock = await follow(server, tmp_path)
    async for _ in cluster.watch(CONFIGMAPS, resource_version="1", timeout_seconds=1):
        pass
    assert clock.known
    await cluster.close()


async def test_a_lease_answer_sets_it_too(server: ScriptedServer, tmp_path: Path) -> None:
    """Leases have their own connection, and a service may send no other request for minutes."""
    server.then(says({**BODY, "kind": "Lease"}, headers=DATE))
    cluster, clock = await follow(server, tmp_path)
    await cluster.get(LEASES, name="a", namespace="n")
    assert FAR - 5 < clock.now() <= FAR + 1
    await cluster.close()


async def test_the_date_can_be_requested(server: ScriptedServer, tmp_path: Path) -> None:
    server.then(says({}, headers=DATE))
    cluster, _ = await follow(server, tmp_path)
    assert await cluster.date() == FAR
    assert [request.path for request in server.seen] == ["/version"]
    await cluster.close()


@pytest.mark.parametrize("date", ["", "yesterday", "Thu, 99 Foo 2026 00:00:00 GMT", "9" * 5000])
async def test_a_date_that_is_none_is_no_fault_of_the_answer(
    server: ScriptedServer, tmp_path: Path, date: str
) -> None:
    server.then(says(BODY, headers={"Date": date}))
    cluster, clock = await follow(server, tmp_path)
    assert await cluster.get(CONFIGMAPS, name="a", namespace="n") == BODY
    assert not clock.known
    with pytest.raises(NoDateError, match="no Date header"):
        await cluster.date()
    await cluster.close()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Wed, 18 Nov 2026 04:00:00 GMT", 1_794_974_400.0),
        ("Wed, 18 Nov 2026 05:00:00 +0100", 1_794_974_400.0),
        ("Wed, 18 Nov 2026 04:00:00 -0000", 1_794_974_400.0),
        ("Wed, 18 Nov 99999999999 04:00:00 GMT", None),
        ("\u0661\u0662", None),
    ],
)
def test_dates_are_read(text: str, seconds: float | None) -> None:
    assert read_date({"Date": text}) == seconds

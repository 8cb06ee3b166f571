"""A stack on a user's cluster registers only what that cluster can reach, and takes it away again."""

from pathlib import Path

import pytest

from vc.admission.config import UNREACHABLE
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.webhook_configurations import (
    CONFIGURATIONS,
    client_service,
    client_url,
    configuration,
)
from vc.cli.pyroclast.processes import Pid
from vc.cli.pyroclast.stack.admission import Place, place_of, said_of, withdraw
from vc.cli.pyroclast.stack.down import run_stack_down
from vc.cli.pyroclast.stack.stack_file import FILE_NAME, StackFile, write
from vc.clock import LoopClock
from vc.cluster import NotFoundError
from vc.kubeconfig.writer import write_kubeconfig
from vc.model.api.struct import JsonObject
from vc.simcluster.cluster import StoreCluster
from vc.simcluster.server import serve
from vc.simcluster.verbs.api import Api

URL = "https://192.0.2.10:8443"
FREE = 4321


@pytest.mark.parametrize(
    ("cluster", "env", "place"),
    [
        ("embedded", {}, Place(port=FREE)),
        ("kubernetes", {}, Place(port=FREE)),
        ("given", {}, Place(port=FREE, url=UNREACHABLE)),
        ("given", {"ADMISSION_URL": ""}, Place(port=FREE, url=UNREACHABLE)),
        ("given", {"ADMISSION_URL": URL}, Place(port=8443, url=URL)),
        (
            "given",
            {"ADMISSION_URL": URL, "ADMISSION_HOST": "0.0.0.0", "ADMISSION_PORT": "9443"},
            Place(host="0.0.0.0", port=9443, url=URL),
        ),
        (
            "given",
            {"ADMISSION_URL": "https://tunnel.example.com", "ADMISSION_PORT": "0"},
            Place(port=FREE, url="https://tunnel.example.com"),
        ),
    ],
)
def test_where_admission_listens_and_what_the_cluster_is_told(
    cluster: str, env: dict[str, str], place: Place
) -> None:
    assert place_of(cluster, env, free_port=lambda: FREE) == place


@pytest.mark.parametrize("name", ["ADMISSION_URL", "ADMISSION_FAILURE_POLICY"])
@pytest.mark.parametrize("cluster", ["embedded", "kubernetes"])
def test_a_setting_for_given_clusters_is_refused_elsewhere(cluster: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}='x' is for CLUSTER=given"):
        place_of(cluster, {name: "x"}, free_port=lambda: FREE)


def test_the_person_who_starts_it_is_told() -> None:
    assert "ADMISSION_URL=https://HOST:PORT" in said_of(Place(port=1, url=UNREACHABLE))
    assert URL in said_of(Place(port=1, url=URL))
    assert said_of(Place(port=1)) == ""


class Theirs:
    """A user's cluster, with webhooks that lead to an address or to a chart's Service."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "theirs"
        self.api = Api(clock=LoopClock())
        self.cluster = StoreCluster(self.api)

    async def register(self, *, url: str) -> None:
        for kind in CONFIGURATIONS:
            clients = {
                e.path: client_url(url, e) if url else client_service("svc", "volcano-system", e)
                for e in ENDPOINTS
            }
            body = configuration(
                kind, name="volcano-admission", clients=clients, scheduler_names=("volcano",)
            )
            await self.cluster.create(kind, body)

    async def webhooks(self) -> list[JsonObject]:
        found = []
        for kind in CONFIGURATIONS:
            try:
                found.append(await self.cluster.get(kind, name="volcano-admission"))
            except NotFoundError:
                continue
        return found


@pytest.mark.parametrize(("there", "stay"), [(URL, 0), ("https://192.0.2.99:8443", 2), ("", 2)])
async def test_only_what_leads_to_the_stacks_own_address_goes(
    tmp_path: Path, there: str, stay: int
) -> None:
    theirs = Theirs(tmp_path)
    await theirs.register(url=there)
    server = await serve(theirs.api, port=0)
    try:
        write_kubeconfig(theirs.kubeconfig, server.url)
        assert await withdraw(theirs.kubeconfig, URL) == ""
        assert await withdraw(theirs.kubeconfig, URL) == ""
    finally:
        await server.close()
    assert len(await theirs.webhooks()) == stay


def killed_stack(home: Path, kubeconfig: Path) -> None:
    """What a stack leaves whose processes were all killed."""
    nobody = Pid(number=2**22 + 1, start_id="never")
    write(
        home,
        StackFile(
            supervisor=nobody,
            started_at=0.0,
            cluster="given",
            kubeconfig=str(kubeconfig),
            admission_url=URL,
        ),
    )


async def test_stack_down_takes_away_what_a_killed_stack_left_on_the_cluster(
    tmp_path: Path,
) -> None:
    theirs = Theirs(tmp_path)
    await theirs.register(url=URL)
    server = await serve(theirs.api, port=0)
    try:
        write_kubeconfig(theirs.kubeconfig, server.url)
        killed_stack(tmp_path, theirs.kubeconfig)
        assert await run_stack_down(tmp_path) == 0
    finally:
        await server.close()
    assert await theirs.webhooks() == []
    assert not (tmp_path / FILE_NAME).exists()


async def test_a_cluster_that_is_away_is_not_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = Theirs(tmp_path)
    write_kubeconfig(theirs.kubeconfig, "http://127.0.0.1:1")
    killed_stack(tmp_path, theirs.kubeconfig)
    assert await run_stack_down(tmp_path) == 1
    said = capsys.readouterr().out
    assert "may still be on the cluster (" in said
    assert "()" not in said
    assert "-l pyroclast.io/registered-by=address` deletes them" in said
    assert (tmp_path / FILE_NAME).exists()

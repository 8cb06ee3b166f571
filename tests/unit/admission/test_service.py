"""The shell on loopback: real HTTPS with a checked authority, the embedded cluster, the bus."""

import io
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from tests.unit.admission.objects import job, queue, task
from tests.unit.admission.rig import Rig, until
from vc.admission.authority import make_certificates
from vc.admission.config import Config
from vc.cluster import ClusterError, ForbiddenError, ServerError
from vc.model.api.kinds import JOBS, NAMESPACES, PODGROUPS, PODS, QUEUES
from vc.model.api.struct import JsonObject
from vc.simcluster.verbs.admission import WARNINGS


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    made = Rig()
    yield made
    await made.webhooks.close()


def review_of(raw: JsonObject) -> bytes:
    request = {
        "uid": "u", "operation": "CREATE", "object": raw,
        "kind": {"group": "batch.volcano.sh", "version": "v1alpha1", "kind": "Job"},
    }  # fmt: skip
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    )


async def test_questions_are_answered_over_tls_that_the_authority_vouches_for(rig: Rig) -> None:
    async with rig.admission() as service, aiohttp.ClientSession() as session:
        trusted = await rig.authority()
        url = f"https://127.0.0.1:{service.port}/jobs/validate"
        async with session.post(url, data=review_of(job(queue="ghost")), ssl=trusted) as answer:
            assert answer.status == 200
            assert "no such queue" in (await answer.json())["response"]["status"]["message"]
        async with session.post(url, data=b"nonsense", ssl=trusted) as answer:
            assert answer.status == 400
            assert "not an AdmissionReview" in await answer.text()
        async with session.post(
            url, data=io.BytesIO(b" " * (4 * 1024 * 1024)), ssl=trusted
        ) as answer:
            assert answer.status == 413
        async with session.post(f"{url}/nowhere", data=b"", ssl=trusted) as answer:
            assert answer.status == 404
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.post(url, data=b"")


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}


async def test_one_file_applies_cold_with_and_without_the_view(rig: Rig) -> None:
    async with rig.admission() as service, rig.watcher():
        await rig.cluster.create(NAMESPACES, NAMESPACE)
        for number in range(20):
            if number == 10:
                await until(lambda: not service.world_source.follower.unready())
            parent, child = f"dept-{number}", f"team-{number}"
            await rig.cluster.create(QUEUES, queue(parent, deserved={"cpu": 4}))
            await rig.cluster.create(QUEUES, queue(child, parent=parent, deserved={"cpu": 3}))
            written = job(f"train-{number}", queue=child, plugins={"pytorch": []}, minAvailable=0)
            made = await rig.cluster.create(JOBS, written, namespace="ml")
            assert made["spec"]["minAvailable"] == 2
            assert made["spec"]["plugins"] == {"pytorch": [], "svc": []}
            with pytest.raises(ForbiddenError, match="together have deserved 5"):
                await rig.cluster.create(
                    QUEUES, queue(f"more-{number}", parent=parent, deserved={"cpu": 2})
                )


async def test_refusals_name_webhook_field_value_and_fix(rig: Rig) -> None:
    async with rig.admission():
        await rig.cluster.create(NAMESPACES, NAMESPACE)
        await rig.cluster.create(QUEUES, queue("default"))
        with pytest.raises(ForbiddenError) as caught:
            await rig.cluster.create(JOBS, job(minAvailable=7), namespace="ml")
        assert caught.value.message == (
            'admission webhook "validatejob.volcano.sh" denied the request: spec.minAvailable: 7: '
            "is more than the 2 replicas of all tasks; lower it or raise replicas"
        )
        with pytest.raises(ForbiddenError, match="this queue is always there"):
            await rig.cluster.delete(QUEUES, name="default")


async def test_a_queue_in_use_is_kept_until_it_is_not_in_use_or_may_go(rig: Rig) -> None:
    """Pod groups are counted live: the one made a moment ago counts, without any view."""
    group = {
        "apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind,
        "metadata": {"name": "train"}, "spec": {"minMember": 1, "queue": "team"},
    }  # fmt: skip
    async with rig.admission():
        await rig.cluster.create(NAMESPACES, NAMESPACE)
        await rig.cluster.create(QUEUES, queue("team"))
        await rig.cluster.create(PODGROUPS, group, namespace="ml")
        with pytest.raises(ForbiddenError, match="1 unfinished pod groups and 0 allocated pods"):
            await rig.cluster.delete(QUEUES, name="team")
        done = {"status": {"phase": "Completed"}}
        await rig.cluster.patch(PODGROUPS, done, name="train", namespace="ml")
        await rig.cluster.delete(QUEUES, name="team")


async def test_a_queue_whose_pod_groups_cannot_be_counted_is_not_deleted(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.admission() as service:
        await rig.cluster.create(QUEUES, queue("team"))

        async def fails(_: str) -> int:
            raise ServerError("etcd is away")

        monkeypatch.setattr(service.world_source, "_count_unfinished", fails)
        with pytest.raises(ClusterError, match="etcd is away"):
            await rig.cluster.delete(QUEUES, name="team")
        assert await rig.cluster.get(QUEUES, name="team")


async def test_a_refusal_is_logged_with_the_job_and_its_trace(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="pyroclast")
    async with rig.admission():
        await rig.cluster.create(NAMESPACES, NAMESPACE)
        await rig.cluster.create(QUEUES, queue("default"))
        with pytest.raises(ForbiddenError):
            await rig.cluster.create(JOBS, job("odd", minAvailable=7), namespace="ml")
        with pytest.raises(ForbiddenError):
            await rig.cluster.delete(QUEUES, name="default")
    of_job, of_queue = [
        r.__dict__ for r in caplog.records if r.getMessage().startswith("review refused")
    ]
    assert (of_job["job"], of_job["operation"]) == ("ml/odd", "CREATE")
    assert (of_queue["queue"], of_queue["operation"]) == ("default", "DELETE")


async def test_warnings_reach_the_client(rig: Rig) -> None:
    async with rig.admission():
        await rig.cluster.create(NAMESPACES, NAMESPACE)
        await rig.cluster.create(QUEUES, queue("default"))
        collected: list[str] = []
        WARNINGS.set(collected)
        raw = job(plugins={"pytorch": []}, tasks=[task("master", 1), task("worker", 1)])
        await rig.cluster.create(JOBS, raw, namespace="ml")
        assert any("no TaskCompleted policy" in warning for warning in collected)


def pod(scheduler: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"p-{scheduler}",
            "annotations": {"volcano.sh/jdb-min-available": "0"},
        },
        "spec": {"schedulerName": scheduler, "containers": [{"name": "c", "image": "i"}]},
    }


async def test_without_us_pods_are_created_and_jobs_are_refused_until_we_are_back(rig: Rig) -> None:
    async with rig.admission():
        await rig.cluster.create(NAMESPACES, NAMESPACE)
        await rig.cluster.create(QUEUES, queue("default"))
        with pytest.raises(ForbiddenError, match="positive number"):
            await rig.cluster.create(PODS, pod("volcano"), namespace="ml")
        await rig.cluster.create(PODS, pod("default-scheduler"), namespace="ml")
    await rig.cluster.create(PODS, pod("volcano"), namespace="ml")
    for kind, raw in ((JOBS, job()), (QUEUES, queue("q"))):
        with pytest.raises(ServerError, match="failed calling webhook"):
            await rig.cluster.create(kind, raw, namespace="ml" if kind.namespaced else "")
    async with rig.admission():
        await rig.cluster.create(JOBS, job(), namespace="ml")


async def test_the_namespace_names_the_queue_of_a_group(rig: Rig) -> None:
    async with rig.admission():
        annotations = {"scheduling.volcano.sh/queue-name": "team"}
        space = {**NAMESPACE, "metadata": {"name": "ml", "annotations": annotations}}
        await rig.cluster.create(NAMESPACES, space)
        await rig.cluster.create(QUEUES, queue("team"))
        group = {
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": "g"}, "spec": {"minMember": 1},
        }  # fmt: skip
        made = await rig.cluster.create(PODGROUPS, group, namespace="ml")
        assert made["spec"]["queue"] == "team"


async def test_replicas_share_one_authority(rig: Rig) -> None:
    async with rig.admission():
        first = await rig.authority()
        async with rig.admission() as second, aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{second.port}/healthz"
            async with session.get(url, ssl=first) as answer:
                assert await answer.text() == "ok\n"


async def test_given_certificates_are_used(rig: Rig, tmp_path: Path) -> None:
    given = make_certificates(["127.0.0.1"], now=rig.clock.now())
    files = {"tls.crt": given.certificate, "tls.key": given.key, "ca.crt": given.ca_bundle}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    fields = {
        "certificate_file": str(tmp_path / "tls.crt"),
        "key_file": str(tmp_path / "tls.key"),
        "ca_file": str(tmp_path / "ca.crt"),
    }
    async with rig.admission(**fields):
        await rig.cluster.create(QUEUES, queue("q"))
        with pytest.raises(ClusterError):
            await rig.authority()


def test_the_environment_is_read_and_checked() -> None:
    config = Config.from_env({"ADMISSION_PORT": "0", "PYROCLAST_COMPAT": "upstream"})
    assert (config.host, config.port) == ("127.0.0.1", 0)
    assert config.settings.compat.value == "upstream"
    for env in (
        {"PYROCLAST_COMPAT": "both"},
        {"ADMISSION_PORT": "many"},
        {"ADMISSION_TLS_CERT_FILE": "x"},
        {"ADMISSION_CREATE_CONFIGURATIONS": "perhaps"},
    ):
        with pytest.raises(ValueError, match=next(iter(env))):
            Config.from_env(env)

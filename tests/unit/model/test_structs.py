"""Every struct reads a full manifest, keeps what it declares and ignores what it does not."""

import msgspec
import pytest
import yaml

from tests.unit.model.full_manifest import full_manifest, without_unknown
from vc.model.api import kinds
from vc.model.api.graft import to_json
from vc.model.api.job import Job
from vc.model.api.kinds import BY_TOPIC, WATCHED, Kind
from vc.model.api.meta import ObjectMeta, OwnerReference, controller_of, object_key, split_key
from vc.model.api.node import Node

EVERY_KIND = [kind for kind in vars(kinds).values() if isinstance(kind, Kind)]


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.short)
def test_a_full_manifest_is_read_and_written_back(kind: Kind) -> None:
    manifest = full_manifest(kind.type)
    if kind is kinds.NODES:
        del manifest["status"]["images"]  # packed as they are read: test_images
    read = msgspec.json.decode(msgspec.json.encode(manifest), type=kind.type)
    assert to_json(read) == without_unknown(manifest)


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.short)
def test_every_field_may_be_missing(kind: Kind) -> None:
    assert to_json(msgspec.json.decode(b"{}", type=kind.type)) == {}


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.short)
def test_instances_share_no_mutable_default(kind: Kind) -> None:
    one, other = kind.type(), kind.type()
    one.metadata.labels["a"] = "b"
    fresh = msgspec.json.decode(b'{"metadata": {}}', type=kind.type)
    fresh.metadata.labels["c"] = "d"
    assert msgspec.json.decode(b'{"metadata": {}}', type=kind.type).metadata.labels == {}
    assert "c" not in other.metadata.labels
    del one.metadata.labels["a"]


MANIFEST = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: mpi, namespace: hpc, labels: {team: physics}}
spec:
  minAvailable: 3
  schedulerName: volcano
  queue: default
  maxRetry: 5
  ttlSecondsAfterFinished: 600
  priorityClassName: high
  minSuccess: 1
  runningEstimate: 1h
  plugins: {ssh: [], svc: ["--publish-not-ready-addresses=true"]}
  networkTopology: {mode: soft, highestTierAllowed: 2}
  volumes:
    - mountPath: /data
      volumeClaim: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  policies:
    - {event: PodEvicted, action: RestartJob, timeout: 30s}
    - {events: [PodFailed, PodPending], action: AbortJob}
    - {exitCode: 3, action: TerminateJob}
  tasks:
    - name: master
      replicas: 1
      minAvailable: 1
      topologyPolicy: best-effort
      maxRetry: 2
      policies: [{event: TaskCompleted, action: CompleteJob}]
      template: {spec: {containers: [{name: m, image: mpi, env: [{name: A, value: b}]}]}}
    - name: worker
      replicas: 2
      dependsOn: {name: [master], iteration: any}
      partitionPolicy: {totalPartitions: 2, partitionSize: 1}
      template: {spec: {containers: [{name: w, image: mpi}]}}
"""


def test_a_users_job_is_read_whole() -> None:
    manifest = yaml.safe_load(MANIFEST)
    job = msgspec.convert(manifest, Job)
    assert job.key == "hpc/mpi"
    assert to_json(job) == without_defaults(manifest)
    worker = job.spec.tasks[1]
    assert worker.depends_on is not None
    assert worker.depends_on.name == ["master"]
    assert job.spec.policies[2].exit_code == 3
    assert job.spec.tasks[0].template["spec"]["containers"][0]["env"][0]["name"] == "A"


def without_defaults(manifest: dict[str, object]) -> dict[str, object]:
    """What a struct leaves out when it writes: members equal to their defaults."""
    spec = manifest["spec"]
    assert isinstance(spec, dict)
    spec["tasks"][1]["partitionPolicy"].pop("partitionSize")
    return manifest


def test_a_struct_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Job().spec = None  # type: ignore[misc, assignment]


def test_topics_and_paths_follow_from_the_kind() -> None:
    assert kinds.PODS.path("ns", "p") == "/api/v1/namespaces/ns/pods/p"
    assert kinds.JOBS.path("ns") == "/apis/batch.volcano.sh/v1alpha1/namespaces/ns/jobs"
    assert kinds.BATCHJOBS.path("ns", "j") == "/apis/batch/v1/namespaces/ns/jobs/j"
    assert kinds.QUEUES.path("ignored", "q") == "/apis/scheduling.volcano.sh/v1beta1/queues/q"
    assert kinds.NODES.path() == "/api/v1/nodes"
    assert kinds.JOBS.api_version == "batch.volcano.sh/v1alpha1"
    assert kinds.PODS.api_version == "v1"


def test_kinds_are_unique() -> None:
    assert len({kind.short for kind in EVERY_KIND}) == len(EVERY_KIND)
    assert len({(kind.group, kind.plural) for kind in EVERY_KIND}) == len(EVERY_KIND)
    assert set(BY_TOPIC) == {kind.topic for kind in WATCHED}


@pytest.mark.parametrize(("namespace", "name"), [("ns", "n"), ("", "n")])
def test_keys_are_split_as_they_were_made(namespace: str, name: str) -> None:
    assert split_key(object_key(namespace, name)) == (namespace, name)


def test_only_one_owner_controls() -> None:
    owner = OwnerReference(api_version="v1", kind="Node", name="a", uid="1")
    controller = msgspec.structs.replace(owner, name="b", controller=True)
    assert controller_of(ObjectMeta(owner_references=[owner])) is None
    assert controller_of(ObjectMeta(owner_references=[owner, controller])) == controller


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([], True),
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "DiskPressure", "status": "False"}], True),
    ],
)
def test_a_node_is_ready_unless_it_says_otherwise(
    conditions: list[dict[str, str]], ready: bool
) -> None:
    assert msgspec.convert({"status": {"conditions": conditions}}, Node).ready is ready

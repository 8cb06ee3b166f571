"""What svc answers: its Service, its policy and the hosts of a job."""

from tests.unit.plugins.requests import answer, of_task, owned, request
from vc.jobplugin.answers import ObjectReference
from vc.messages.effects import CreateObject, DeleteObject, PatchObject
from vc.model.api.kinds import CONFIGMAPS
from vc.plugin_svc.logic import SvcCore


def test_svc_makes_its_objects_and_names_hosts() -> None:
    decorated = answer(SvcCore())
    made = [e for e in decorated.effects if isinstance(e, CreateObject)]
    assert [(e.kind.kind, e.name) for e in made] == [
        ("Service", "j"),
        ("NetworkPolicy", "j"),
        ("ConfigMap", "j-svc"),
    ]
    assert made[2].body["data"] == {
        "master.host": "j-master-0.j",
        "VC_MASTER_HOSTS": "j-master-0.j",
        "VC_MASTER_HOST": "j-master-0.j",
        "VC_MASTER_NUM": "1",
        "worker.host": "j-worker-0.j\nj-worker-1.j",
        "VC_WORKER_HOSTS": "j-worker-0.j,j-worker-1.j",
        "VC_WORKER_HOST": "j-worker-0.j",
        "VC_WORKER_NUM": "2",
    }
    worker = of_task(decorated, "worker")
    assert worker.hostname_from_pod
    assert worker.subdomain == "j"
    assert worker.mounts == [{"name": "j-svc", "mountPath": "/etc/volcano"}]


def test_svc_without_a_policy_and_with_early_names() -> None:
    decorated = answer(SvcCore(), "--disable-network-policy", "--publish-not-ready-addresses=true")
    made = [e for e in decorated.effects if isinstance(e, CreateObject)]
    assert [e.kind.kind for e in made] == ["Service", "ConfigMap"]
    assert made[0].body["spec"]["publishNotReadyAddresses"] is True


def test_svc_refreshes_hosts_and_removes_only_its_own() -> None:
    core, reference = SvcCore(), ObjectReference(CONFIGMAPS, "ns", "j-svc")
    stale = answer(core, found={reference: owned(data={"VC_GONE_NUM": "1"})})
    (patch,) = [e for e in stale.effects if isinstance(e, PatchObject)]
    assert patch.patch["data"]["VC_GONE_NUM"] is None
    removal = request(verb="remove")
    ended = core.remove(removal, {reference: owned()}).effects
    assert [type(e) for e in ended] == [DeleteObject]
    assert isinstance(ended[0], DeleteObject)
    assert (ended[0].uid, ended[0].resource_version) == ("x", "7"), "as it was read, or not at all"
    assert core.remove(removal, {reference: owned("another job")}).effects == ()

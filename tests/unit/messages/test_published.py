"""Published projections: enough to decide, and nothing that concerns only the pods."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.planted import OWN_ANNOTATION, Planted
from tests.simulation.stack import gang_job
from tests.unit.messages.samples import STAMP
from vc.dashboard.logic.manifests import pods_of
from vc.jobs.pods.min_resources import pod_usage
from vc.messages.codec import encode
from vc.messages.facts import HEADER_PROJECTION, fact_message, object_of
from vc.messages.plugins import PluginRequest
from vc.messages.published import HIDDEN, in_plain_form, published
from vc.messages.record import Record
from vc.messages.redaction import OMITTED, REDACTED, is_redacted, redact
from vc.model.api import pod as pods
from vc.model.api.job import Job
from vc.model.api.kinds import JOBS, PODS
from vc.model.api.outline import KEPT, OUTLINE, outline, pod_spec_of, shown_template
from vc.model.api.pod import Pod
from vc.model.api.struct import JsonObject

FORMS = (
    "affinity", "containers", "initContainers", "nodeSelector", "tolerations", "volumes", "hostname",
    "topologySpreadConstraints", "securityContext", "overhead", "schedulingGates", "resourceClaims",
)  # fmt: skip


def planted_job() -> tuple[Planted, JsonObject]:
    planted = Planted()
    job = planted.job(gang_job("a"))
    job["spec"]["volumes"] = [{"mountPath": "/data", "volumeClaim": planted.claim("claim")}]
    return planted, job


def as_job(raw: JsonObject) -> Job:
    return msgspec.convert(raw, Job)


def test_a_job_travels_without_its_secrets_and_with_what_decides() -> None:
    planted, raw = planted_job()
    whole = as_job(raw)
    shown = published(whole)
    assert planted.found_in(encode(whole)) == list(planted.secrets)
    assert planted.found_in(encode(shown)) == []
    assert len(encode(shown)) < len(encode(whole)) / 2
    assert shown.metadata.annotations == {OWN_ANNOTATION: HIDDEN}
    template = shown.spec.tasks[0].template
    assert list(template) == [OUTLINE]
    assert pod_usage(template) == pod_usage(whole.spec.tasks[0].template)
    container = pod_spec_of(template)["containers"][0]
    assert [variable["name"] for variable in container["env"]] == ["PASSWORD", "ENCODED"]
    assert shown_template(template)["metadata"]["annotations"] == {
        "sim.pyroclast.io/run-seconds": "5"
    }
    assert shown.spec.volumes[0].volume_claim == {}
    assert published(shown) == shown, "applied twice it changes nothing"


def test_a_release_that_knows_no_outlines_finds_no_pod_to_make() -> None:
    _, raw = planted_job()
    template = published(as_job(raw)).spec.tasks[0].template
    assert "spec" not in template
    assert "metadata" not in template


def test_an_outline_that_a_tenant_writes_is_not_taken_for_the_template() -> None:
    raw = gang_job("a", cpu="8")
    template = raw["spec"]["tasks"][0]["template"]
    forged = {"spec": {"containers": [{"name": "main", "env": [{"name": "X", "value": "secret"}]}]}}
    both = {**template, OUTLINE: forged}
    raw["spec"]["tasks"][0]["template"] = both
    told = published(as_job(raw)).spec.tasks[0].template
    assert told == outline(template, annotations={"sim.pyroclast.io/run-seconds": "5"})
    raw["spec"]["tasks"][0]["template"] = {OUTLINE: forged}
    assert b"secret" not in encode(published(as_job(raw)))


def test_a_pod_is_published_with_the_annotations_that_services_read() -> None:
    planted = Planted()
    raw: dict[str, Any] = {
        "metadata": {
            "name": "a",
            "annotations": {"scheduling.k8s.io/group-name": "g", "volcano.sh/preemptable": "true"},
        },
        "spec": {"containers": [{"name": "main"}]},
    }
    planted.template(raw, at="pod")
    shown = published(msgspec.convert(raw, Pod))
    assert planted.found_in(encode(shown)) == []
    assert shown.metadata.annotations == {
        "scheduling.k8s.io/group-name": "g",
        "volcano.sh/preemptable": "true",
    }


def test_a_session_sees_the_same_pods_in_an_outline_as_in_the_template() -> None:
    """What-if makes the pods of waiting jobs of what the bus has."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
    raw = gang_job("a", replicas=2)
    template = raw["spec"]["tasks"][0]["template"]
    template["metadata"]["labels"] = {"app": "a"}
    template["spec"] |= {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}
                    ]
                }
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        },
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term}],
        "nodeSelector": {"disk": "ssd"},
        "schedulingGates": [{"name": "gate"}],
        "overhead": {"cpu": "100m"},
        "priorityClassName": "high",
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        ],
        "hostname": "h",
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 5,
        "resources": {"requests": {"cpu": "2"}},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}],
    }
    container = template["spec"]["containers"][0]
    container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"limits": {"cpu": "1"}}}
    template["spec"]["initContainers"] = [sidecar]
    whole = as_job(raw)
    of_template = list(pods_of(whole, {}, scheduler_name="volcano"))
    assert list(pods_of(published(whole), {}, scheduler_name="volcano")) == of_template
    assert of_template[0].spec.affinity is not None


def test_a_plugin_is_asked_in_the_form_it_knows_and_without_values() -> None:
    planted, raw = planted_job()
    job = published(as_job(raw))
    told = msgspec.structs.replace(job, spec=in_plain_form(job.spec))
    request = PluginRequest(verb="apply", plugin="svc", arguments=[], job=told, spec_hash="0" * 16)
    assert planted.found_in(encode(request)) == []
    container = request.job.spec.tasks[0].template["spec"]["containers"][0]
    assert container["name"] == "main"


def test_facts_of_an_older_release_are_read_without_what_must_not_travel() -> None:
    planted, raw = planted_job()
    whole = as_job(raw)
    message = fact_message(JOBS, whole, stamp=STAMP)
    headers = {k: v for k, v in message.headers.items() if k != HEADER_PROJECTION}
    record = Record(
        topic=message.topic, partition=0, offset=0, key="a", value=message.value, headers=headers
    )
    assert planted.found_in(message.value or b"") != []
    assert object_of(record) == published(whole)


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.just("planted-secret"))
ANYTHING = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.dictionaries(
            st.sampled_from(("value", "args", "command", "password", "exec", "containers")), below,
            max_size=3,
        ),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(FORMS), ANYTHING, max_size=4))
def test_a_template_of_any_form_gives_an_outline(spec: JsonObject) -> None:
    """Undeclared fields are never published, whatever surrounds them."""
    before = copy.deepcopy(spec)
    shown = outline({"spec": spec}, annotations={})
    assert spec == before
    assert outline(shown_template(shown), annotations={}) == shown
    assert not _names(shown) & {"args", "command", "password", "exec"}


def _names(value: Any) -> set[str]:
    """Of fields; of maps whose keys are the author's, none."""
    if isinstance(value, dict):
        free = ("nodeSelector", "overhead", "matchLabels", "limits", "requests")
        below = [_names(each) for key, each in value.items() if key not in free]
        return set(value).union(*below)
    if isinstance(value, list):
        return set().union(*(_names(each) for each in value))
    return set()


# -- plugin arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugin", "given_", "shown"),
    [
        ("env", ["--token=s3cret", "s3cret"], [f"--token={OMITTED}", OMITTED]),
        ("mpi", ["--port", "22", "s3cret"], ["--port", "22", OMITTED]),
        ("svc", ["--disable-network-policy", "s3cret"], ["--disable-network-policy", OMITTED]),
        ("ssh", ["--ssh-private-key", "s3cret", "--ssh-port", "22"],
         ["--ssh-private-key", REDACTED, "--ssh-port", "22"]),
        ("guest", ["--word=hello", "x"], ["--word=hello", "x"]),
        ("guest", ["--ssh-private-key=s3cret"], [f"--ssh-private-key={REDACTED}"]),
    ],
)  # fmt: skip
def test_arguments_that_decide_nothing_are_left_out(
    plugin: str, given_: list[str], shown: list[str]
) -> None:
    assert redact(given_, plugin=plugin) == shown
    assert redact(shown, plugin=plugin) == shown
    assert is_redacted(shown) == (REDACTED in "".join(shown))


WATCHERS_OWN = {"heldRequests"}
"""Fields of pods that no template has."""


@pytest.mark.parametrize(
    ("kind", "struct"),
    [
        ("Spec", pods.PodSpec),
        ("Container", pods.Container),
        ("Resources", pods.ResourceRequirements),
        ("Port", pods.ContainerPort),
        ("Toleration", pods.Toleration),
        ("Spread", pods.TopologySpreadConstraint),
        ("Volume", pods.Volume),
        ("ClaimRef", pods.ClaimReference),
        ("Name", pods.SchedulingGate),
    ],
)
def test_whatever_is_decided_on_is_in_the_outline(kind: str, struct: type[msgspec.Struct]) -> None:
    read = {field.encode_name for field in msgspec.structs.fields(struct)}
    assert read - WATCHERS_OWN <= {name for name, _ in KEPT[kind]}


def test_pods_have_no_field_for_free_text() -> None:
    assert PODS.type is Pod
    fields = {field.encode_name for field in msgspec.structs.fields(Pod().spec)}
    assert not fields & {"imagePullSecrets", "dnsConfig", "hostAliases", "env", "args", "command"}

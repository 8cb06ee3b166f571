"""The chart says what the code says: services, environment, webhooks, names; and refuses bad values."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.deploy.chart import (
    CHART,
    KUBE_VERSION,
    MANIFESTS,
    NAMESPACE,
    RELEASE,
    VALUE_SETS,
    container_of,
    helm,
    of_kind,
    render,
    template,
)
from vc.admission.config import Config as AdmissionConfig
from vc.admission.logic.webhook.endpoints import ENDPOINTS
from vc.admission.logic.webhook.webhook_configurations import (
    MUTATING,
    VALIDATING,
    client_service,
    configuration,
)
from vc.cli.pyroclast.rights import account_manifests
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.plan import keys_of
from vc.cli.pyroclast.stack.stack import DASHBOARD_SERVICE
from vc.cli.vcctl.api.dashboard import LABELS
from vc.model.compat import Compat
from vc.scheduling import actions, plugins
from vc.scheduling.conf.model import default_conf
from vc.scheduling.conf.volcano_file import read_conf

ONLY_ON_A_CLUSTER = {
    "POD_NAMESPACE", "LOG_LEVEL", "LOG_FORMAT",
    "KAFKA_SECURITY_PROTOCOL", "KAFKA_REPLICATION_FACTOR", "KAFKA_TOPIC_PREFIX",
}  # fmt: skip
"""Keys that a stack inherits or does without."""
ONLY_THERE = {
    "admission": {
        "ADMISSION_SERVICE", "ADMISSION_SECRET", "ADMISSION_CONFIGURATION", "ADMISSION_CONFIGMAP",
    },
}  # fmt: skip
NOT_THERE = {
    "KUBECONFIG", "ADMISSION_CREATE_CONFIGURATIONS", "ADMISSION_URL", "ADMISSION_FAILURE_POLICY",
}  # fmt: skip
"""A pod has its account, and the chart installs the webhooks."""


@pytest.fixture(scope="module")
def defaults() -> list[dict[str, Any]]:
    return render({})


def test_helm_finds_nothing_wrong() -> None:
    done = helm("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", VALUE_SETS)
def test_every_value_set_renders(name: str) -> None:
    kinds = {manifest["kind"] for manifest in render(VALUE_SETS[name])}
    assert {"Deployment", "ServiceAccount", "PodDisruptionBudget"} <= kinds


def test_the_plain_manifests_are_up_to_date() -> None:
    done = template({})
    assert (MANIFESTS / "pyroclast.yaml").read_text() == done.stdout, "run `make manifests`"


def test_each_service_has_a_deployment_an_account_and_a_budget(
    defaults: list[dict[str, Any]],
) -> None:
    wanted = {f"{RELEASE}-{service}" for service in SERVICES}
    for kind in ("Deployment", "ServiceAccount", "PodDisruptionBudget"):
        assert set(of_kind(defaults, kind)) == wanted, kind


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_told_the_keys_that_the_stack_tells_it(
    service: str, defaults: list[dict[str, Any]]
) -> None:
    deployment = of_kind(defaults, "Deployment")[f"{RELEASE}-{service}"]
    told = {variable["name"] for variable in container_of(deployment)["env"]}
    wanted = keys_of(service) - NOT_THERE | ONLY_ON_A_CLUSTER | ONLY_THERE.get(service, set())
    assert told == wanted


@pytest.mark.parametrize("service", SERVICES)
def test_a_pod_is_restricted(service: str, defaults: list[dict[str, Any]]) -> None:
    deployment = of_kind(defaults, "Deployment")[f"{RELEASE}-{service}"]
    spec, container = deployment["spec"]["template"]["spec"], container_of(deployment)
    assert spec["serviceAccountName"] == f"{RELEASE}-{service}"
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["image"] == f"vc-{service}:0.1.0"
    assert container["resources"]["limits"]["memory"]
    assert container["resources"]["requests"]["cpu"]
    assert {container[f"{kind}Probe"]["httpGet"]["port"] for kind in ("liveness", "readiness")} == {
        "health"
    }


def test_only_those_who_use_redis_may_reach_it() -> None:
    rendered = render(VALUE_SETS["secured-servers"])
    policies = of_kind(rendered, "NetworkPolicy")
    allowed = {
        service
        for service in SERVICES
        for rule in policies[f"{RELEASE}-{service}"]["spec"]["egress"]
        if {"protocol": "TCP", "port": 6379} in rule["ports"]
    }
    told = {
        service
        for service in SERVICES
        for variable in container_of(of_kind(rendered, "Deployment")[f"{RELEASE}-{service}"])["env"]
        if variable["name"] == "REDIS_URL"
    }
    assert allowed == told == {s for s in SERVICES if "REDIS_URL" in keys_of(s)}


def test_only_admission_and_the_dashboard_are_called(defaults: list[dict[str, Any]]) -> None:
    policies = of_kind(defaults, "NetworkPolicy")
    called = {
        (service, port["port"])
        for service in SERVICES
        for rule in policies[f"{RELEASE}-{service}"]["spec"]["ingress"]
        for port in rule["ports"]
        if port["port"] != 8081
    }
    assert called == {("admission", 8443), ("dashboard", 8080)}
    assert policies[f"{RELEASE}-default-deny"]["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_who_has_no_rights_does_not_even_reach_the_api_server(
    defaults: list[dict[str, Any]],
) -> None:
    policies, roles = of_kind(defaults, "NetworkPolicy"), of_kind(defaults, "ClusterRole")
    reaching = {
        service
        for service in SERVICES
        for rule in policies[f"{RELEASE}-{service}"]["spec"]["egress"]
        if {"protocol": "TCP", "port": 443} in rule["ports"]
    }
    assert reaching == {s for s in SERVICES if f"{RELEASE}-{s}-identity" in roles}
    assert {s for s in SERVICES if f"{RELEASE}-{s}" in roles} <= reaching


def test_secrets_are_named_and_never_written_into_a_deployment() -> None:
    rendered = render(VALUE_SETS["secured-servers"])
    secrets = of_kind(rendered, "Secret")
    assert secrets["volcano-kafka"]["stringData"]["password"] == "not a real one"
    others = [m for m in rendered if m["kind"] != "Secret"]
    assert "not a real one" not in str(others)
    assert "not-a-real-one" not in str(others)


def test_an_existing_secret_is_used_and_none_is_made() -> None:
    rendered = render(VALUE_SETS["secrets-of-others"])
    assert set(of_kind(rendered, "Secret")) == {"volcano-admission-certs"}
    deployments = of_kind(rendered, "Deployment")
    used = {
        service: {
            volume["secret"]["secretName"]
            for volume in deployments[f"{RELEASE}-{service}"]["spec"]["template"]["spec"]["volumes"]
            if "secret" in volume
        }
        for service in ("watcher", "plugin-ssh", "scheduler")
    }
    assert used == {
        "watcher": {"kafka-client"},
        "plugin-ssh": {"kafka-ssh"},
        "scheduler": {"kafka-client", "redis-login"},
    }


def test_a_plugin_can_be_kept_to_some_namespaces() -> None:
    rendered = render(VALUE_SETS["secrets-of-others"])
    assert f"{RELEASE}-plugin-ssh" not in of_kind(rendered, "ClusterRoleBinding")
    within = [
        m["metadata"]["namespace"]
        for m in rendered
        if m["kind"] == "RoleBinding" and m["metadata"]["name"] == f"{RELEASE}-plugin-ssh"
    ]
    assert within == ["ml", "hpc"]


def _accounts_told(rendered: list[dict[str, Any]]) -> tuple[str, ...]:
    """The user names of our services as admission is told them; each has its account in the chart."""
    admission = of_kind(rendered, "Deployment")[f"{RELEASE}-admission"]
    (container,) = admission["spec"]["template"]["spec"]["containers"]
    (value,) = [e["value"] for e in container["env"] if e["name"] == "ADMISSION_ACCOUNTS"]
    told = tuple(value.split(","))
    names = [account.removeprefix(f"system:serviceaccount:{NAMESPACE}:") for account in told]
    assert sorted(names) == sorted(f"{RELEASE}-{service}" for service in SERVICES)
    return told


@pytest.mark.parametrize("kind", [MUTATING, VALIDATING], ids=lambda kind: kind.kind)
def test_the_webhooks_are_those_of_admission(kind: Any, defaults: list[dict[str, Any]]) -> None:
    rendered = of_kind(defaults, kind.kind)[AdmissionConfig().configuration_name]
    service = AdmissionConfig().service_name
    clients = {e.path: client_service(service, NAMESPACE, e) for e in ENDPOINTS}
    wanted = configuration(
        kind,
        name=f"{RELEASE}-admission",
        clients=clients,
        scheduler_names=("volcano",),
        accounts=_accounts_told(defaults),
    )
    assert rendered["webhooks"] == wanted["webhooks"]


def test_admissions_names_are_its_defaults(defaults: list[dict[str, Any]]) -> None:
    deployment = of_kind(defaults, "Deployment")[f"{RELEASE}-admission"]
    env = {v["name"]: v["value"] for v in container_of(deployment)["env"] if "value" in v}
    told, default = AdmissionConfig.from_env(env), AdmissionConfig()
    for name in ("service_name", "secret_name", "configuration_name", "configmap_name"):
        assert getattr(told, name) == getattr(default, name)
    assert told.create_configurations is False
    assert default.secret_name in of_kind(defaults, "Secret")
    assert default.service_name in of_kind(defaults, "Service")


@pytest.mark.parametrize("service", SERVICES)
def test_the_stack_grants_what_the_chart_grants(
    service: str, defaults: list[dict[str, Any]]
) -> None:
    """Or the tests of rights would speak of others than those that are installed."""

    def essence(manifest: dict[str, Any]) -> dict[str, Any]:
        metadata = {key: manifest["metadata"].get(key) for key in ("name", "namespace")}
        return {**manifest, "metadata": metadata}

    name = f"{RELEASE}-{service}"
    kinds = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    rendered = [
        essence(m)
        for m in defaults
        if m["kind"] in kinds and m["metadata"]["name"] in (name, f"{name}-identity")
    ]
    granted = [essence(m) for m in account_manifests(service)]
    assert sorted(rendered, key=str) == sorted(granted, key=str)


def test_the_names_of_the_documents_are_kept(defaults: list[dict[str, Any]]) -> None:
    assert "volcano-scheduler" in of_kind(defaults, "Deployment")
    assert "volcano-admission" in of_kind(defaults, "Deployment")
    configmap = of_kind(defaults, "ConfigMap")["volcano-scheduler-configmap"]
    assert list(configmap["data"]) == ["volcano-scheduler.conf"]
    namespace, _, service = DASHBOARD_SERVICE.partition("/")
    name, _, port = service.partition(":")
    dashboard = of_kind(defaults, "Service")[name]
    assert dashboard["metadata"]["namespace"] == namespace
    assert [p["port"] for p in dashboard["spec"]["ports"]] == [int(port)]


def test_a_release_of_another_name_leads_vcctl_and_the_dashboard_to_its_own() -> None:
    """What is named after the release is told to whoever would else look for the usual name."""
    rendered = render({}, release="second")
    for service in ("scheduler", "dashboard"):
        container = container_of(of_kind(rendered, "Deployment")[f"second-{service}"])
        told = {entry["name"]: entry.get("value") for entry in container["env"]}
        assert told["SCHEDULER_CONFIGMAP"] == "second-scheduler-configmap"
    assert "second-scheduler-configmap" in of_kind(rendered, "ConfigMap")
    labels = of_kind(rendered, "Service")["second-dashboard"]["metadata"]["labels"]
    assert dict(label.split("=") for label in LABELS.split(",")).items() <= labels.items()


@pytest.mark.parametrize("compat", list(Compat))
def test_one_value_says_to_every_service_whose_letter_is_followed(compat: Compat) -> None:
    rendered = render({"compat": compat.value})
    maps = of_kind(rendered, "ConfigMap")
    assert maps["volcano-environment"]["data"]["PYROCLAST_COMPAT"] == compat.value
    for name, deployment in of_kind(rendered, "Deployment").items():
        told = {entry["name"] for entry in container_of(deployment)["env"]}
        assert "PYROCLAST_COMPAT" in told, name
    text = maps["volcano-scheduler-configmap"]["data"]["volcano-scheduler.conf"]
    conf, _ = read_conf(text, actions=tuple(actions.REGISTRY), plugins=tuple(plugins.REGISTRY))
    assert conf == default_conf(compat), "the chart's configuration is the scheduler's default"


def test_the_scheduler_may_read_a_config_map_of_yours() -> None:
    rendered = render({"schedulerConfigMap": "mine", "schedulerConfigMapKey": "mine.conf"})
    assert "volcano-scheduler-configmap" not in of_kind(rendered, "ConfigMap")
    for service in ("scheduler", "dashboard"):
        container = container_of(of_kind(rendered, "Deployment")[f"volcano-{service}"])
        told = {entry["name"]: entry.get("value") for entry in container["env"]}
        assert (told["SCHEDULER_CONFIGMAP"], told["SCHEDULER_CONFIGMAP_KEY"]) == (
            "mine",
            "mine.conf",
        )


@pytest.mark.parametrize(("value", "told"), [("", None), (True, "true"), (False, "false")])
def test_queues_in_use_are_protected_as_the_value_says(value: object, told: str | None) -> None:
    rendered = render({"queueAllocatedPodsCheck": value})
    container = container_of(of_kind(rendered, "Deployment")["volcano-admission"])
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert env.get("ADMISSION_QUEUE_ALLOCATED_PODS_CHECK") == told


def test_maxima_are_told_to_admission_and_none_by_default() -> None:
    told = []
    for values in ({}, {"maxima": {"tasksPerJob": 7, "jobsPerNamespace": 20000}}):
        container = container_of(of_kind(render(values), "Deployment")["volcano-admission"])
        env = {entry["name"]: entry.get("value") for entry in container["env"]}
        told.append({name: value for name, value in env.items() if "_PER_" in name})
    assert told == [
        {},
        {"ADMISSION_MAX_TASKS_PER_JOB": "7", "ADMISSION_MAX_JOBS_PER_NAMESPACE": "20000"},
    ]


def test_the_notes_say_where_vcctl_finds_the_dashboard(tmp_path: Path) -> None:
    """Helm shows notes only when it installs, so a copy of the chart carries them in a ConfigMap."""
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    (chart / "notes.txt").write_text((chart / "templates" / "NOTES.txt").read_text())
    (chart / "templates" / "notes.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\n"
        'data: {notes: {{ tpl (.Files.Get "notes.txt") . | quote }} }\n'
    )
    wanted = "export PYROCLAST_DASHBOARD_URL=batch/second-dashboard\n"
    assert wanted in notes_of(chart)
    without = notes_of(chart, "--set", "dashboard.enabled=false")
    assert "Pyroclast is installed as second in batch" in without
    assert "DASHBOARD" not in without


def notes_of(chart: Path, *values: str) -> str:
    arguments = ("--namespace", "batch", "--kube-version", KUBE_VERSION, *values)
    shown = helm("template", "second", str(chart), "-s", "templates/notes.yaml", *arguments)
    assert shown.returncode == 0, shown.stderr
    return str(yaml.safe_load(shown.stdout)["data"]["notes"])


def test_the_switches_of_the_documents_leave_parts_out() -> None:
    names = set(of_kind(render(VALUE_SETS["scheduler-only-beside-volcano"]), "Deployment"))
    assert names == {"volcano-watcher", "volcano-scheduler", "volcano-dashboard"}


def test_two_releases_share_nothing_cluster_wide() -> None:
    cluster_wide = ("ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration")
    one, other = render({}), render({}, release="second")
    for kind in cluster_wide:
        assert not set(of_kind(one, kind)) & set(of_kind(other, kind)), kind


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown value": ({"kafkaa": {}}, "kafkaa"),
    "an address without a port": ({"kafka": {"bootstrapServers": "kafka"}}, "bootstrapServers"),
    "a protocol that is none": ({"kafka": {"securityProtocol": "TLS"}}, "securityProtocol"),
    "SASL without a user": ({"kafka": {"securityProtocol": "SASL_SSL"}}, "username"),
    "a Redis that is none": ({"redis": {"url": "http://redis"}}, "url"),
    "a service that is none": ({"services": {"plugin-none": {}}}, "plugin-none"),
    "a negative count": ({"services": {"scheduler": {"replicas": -1}}}, "replicas"),
    "a watcher of some namespaces": ({"services": {"watcher": {"namespaces": ["a"]}}}, "watcher"),
    "a port out of range": ({"networkPolicy": {"kafkaPorts": [70000]}}, "kafkaPorts"),
    "a switch that is a word": ({"basic": {"scheduler": {"enabled": "yes"}}}, "enabled"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_value_is_refused_by_name(what: str) -> None:
    values, named = WRONG[what]
    done = template(values)
    assert done.returncode != 0
    assert re.search(named, done.stderr), done.stderr

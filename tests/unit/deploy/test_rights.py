"""services.yaml: every service is in it, with rights that are the least in form as well."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import vc.podgroup_controller.service
import vc.queue_controller.service
import vc.scheduler.service
import vc.usage_ledger.service
from vc.cli.pyroclast.rights import rights_of, service_facts
from vc.cli.pyroclast.services import SERVICES
from vc.cli.pyroclast.stack.plan import keys_of
from vc.model.api.kinds import CONFIGMAPS, WATCHED, Kind

ROOT = Path(__file__).parents[3]
OWN_SECRET = "volcano-admission-certs"


def all_rules(service: str) -> list[dict[str, Any]]:
    rights = rights_of(service)
    return rights.rules + rights.own_rules


def test_values_name_only_services() -> None:
    values = yaml.safe_load((ROOT / "deploy/helm/pyroclast/values.yaml").read_text())
    assert set(values["services"]) <= set(SERVICES)


def test_redis_is_for_those_who_use_it() -> None:
    told = {name for name, facts in service_facts().items() if facts.get("redis")}
    assert told == {service for service in SERVICES if "REDIS_URL" in keys_of(service)}


def test_the_names_of_the_scheduler_are_for_services_that_declare_them() -> None:
    given = {name for name, facts in service_facts().items() if facts.get("schedulerNames")}
    assert given == {service for service in SERVICES if "SCHEDULER_NAMES" in keys_of(service)}


@pytest.mark.parametrize("service", SERVICES)
def test_no_right_is_a_wildcard(service: str) -> None:
    for rule in all_rules(service):
        assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
        assert {"escalate", "bind", "impersonate", "deletecollection"}.isdisjoint(rule["verbs"])


def test_the_watcher_may_read_exactly_what_it_watches() -> None:
    rights = rights_of("watcher")
    may = {
        (group, resource)
        for rule in rights.rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if rule["verbs"] == ["list", "watch"]
    }
    assert may == {(kind.group, kind.plural) for kind in WATCHED if kind is not CONFIGMAPS}
    assert {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]} in (
        rights.own_rules
    ), "ConfigMaps of our own namespace alone"


@pytest.mark.parametrize(
    ("service", "followed"),
    [
        ("scheduler", vc.scheduler.service.FOLLOWED),
        ("queue-controller", vc.queue_controller.service.FOLLOWED),
        ("usage-ledger", vc.usage_ledger.service.FOLLOWED),
        ("podgroup-controller", vc.podgroup_controller.service.FOLLOWED),
    ],
)
def test_a_new_leader_may_ask_how_far_every_kind_it_follows_is(
    service: str, followed: tuple[Kind, ...]
) -> None:
    """Refused once, it would never begin to lead."""
    may = {
        (group, resource)
        for rule in all_rules(service)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if "list" in rule["verbs"]
    }
    assert may == {(kind.group, kind.plural) for kind in followed}


def test_only_the_watcher_watches() -> None:
    watching = {s for s in SERVICES for rule in all_rules(s) if "watch" in rule["verbs"]}
    assert watching == {"watcher"}


def test_only_ssh_touches_secrets_and_admission_its_own_one() -> None:
    touching = {
        service: rule.get("resourceNames", [])
        for service in SERVICES
        for rule in all_rules(service)
        if "secrets" in rule["resources"]
    }
    assert touching == {"plugin-ssh": [], "admission": [OWN_SECRET]}


def test_only_the_scheduler_binds_and_evicts() -> None:
    acting = {
        service
        for service in SERVICES
        for rule in all_rules(service)
        if {"pods/binding", "pods/eviction"} & set(rule["resources"])
    }
    assert acting == {"scheduler"}


def test_a_lease_is_ones_own() -> None:
    for service in SERVICES:
        for rule in all_rules(service):
            if rule["resources"] == ["leases"] and rule["verbs"] != ["create"]:
                assert rule["resourceNames"] == [f"vc-{service}"]


@pytest.mark.parametrize(
    "service", ["plugin-env", "plugin-pytorch", "plugin-mpi", "plugin-tensorflow"]
)
def test_who_writes_nothing_to_the_cluster_may_nothing(service: str) -> None:
    assert all_rules(service) == []


def test_the_dashboard_may_only_ask_about_its_callers() -> None:
    rights = [(*rule["resources"], *rule["verbs"]) for rule in all_rules("dashboard")]
    assert rights == [("tokenreviews", "create"), ("subjectaccessreviews", "create")]


def test_who_reads_facts_or_writes_objects_may_ask_which_cluster_it_is() -> None:
    """The others' answers depend on their questions alone, and they may not even reach the API server."""
    rule = {
        "apiGroups": [""],
        "resources": ["namespaces"],
        "resourceNames": ["kube-system"],
        "verbs": ["get"],
    }
    asking = {service for service in SERVICES if rights_of(service).identity_rules}
    assert set(SERVICES) - asking == {
        f"plugin-{n}" for n in ("env", "pytorch", "mpi", "tensorflow")
    }
    assert all(rights_of(service).identity_rules == [rule] for service in asking)


def test_the_threat_model_speaks_of_every_service() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    begins = text.index("| service | on the cluster it can")
    table = text[begins : text.index("`patch` on pods", begins)]
    cells = ", ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    short = {service: service.removeprefix("plugin-") for service in SERVICES}
    missing = [s for s, name in short.items() if s not in cells and f"-{name}" not in cells]
    assert missing == []

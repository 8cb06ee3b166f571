"""PodGroup, Pod, CronJob, JobFlow and HyperNode."""

from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    job,
    queue,
    read_queue,
    world,
)
from vc.admission.logic.review import review
from vc.admission.logic.webhook.endpoints import BY_PATH
from vc.model.api.struct import JsonObject
from vc.validation.request import ReviewRequest
from vc.validation.resource_groups import ResourceGroupsError, parse_resource_groups
from vc.validation.world import World

KNOWN = world(
    read_queue(queue("closed"), state="Closed"),
    time_zones=frozenset({"Europe/Berlin"}),
    queue_allocation_gate=True,
)


def group(**spec: Any) -> JsonObject:
    return {"metadata": {"name": "g"}, "spec": {"minMember": 1, **spec}}


def pod(annotations: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"schedulerName": "volcano", **spec},
    }


STORED = {"volcano.sh/allow-unsupported": "true"}
"""On kinds that no controller runs."""


def cron(name: str = "nightly", **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": name, "annotations": STORED},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job()["spec"]}, **spec},
    }


def flow(*flows: JsonObject, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "f", "annotations": STORED},
        "spec": {"flows": list(flows), **spec},
    }


def member(selector: JsonObject, kind: str = "Node") -> JsonObject:
    return {"type": kind, "selector": selector}


def hypernode(*members: JsonObject, tier: int = 1) -> JsonObject:
    return {"metadata": {"name": "h"}, "spec": {"tier": tier, "members": list(members)}}


MIN, MAX = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"
BOTH_TIERS = {"highestTierAllowed": 1, "highestTierName": "rack"}

PODGROUPS = (
    Case(says="a group is accepted", object=group(queue="default")),
    Case(says="an empty queue is accepted", object=group()),
    Case(says="a group's queue exists", object=group(queue="ghost"), refused="no such queue"),
    Case(says="a group's queue is open", object=group(queue="closed"), refused="is Closed"),
    Case(says="tiers exclude each other", object=group(networkTopology=BOTH_TIERS),
         refused="spec.networkTopology: highestTierAllowed and highestTierName"),
    Case(says="tiers of sub groups exclude each other",
         object=group(subGroupPolicy=[{"name": "s", "networkTopology": BOTH_TIERS}]),
         refused="spec.subGroupPolicy[0].networkTopology"),
)  # fmt: skip

PODS = (
    Case(says="a pod without budget is accepted", object=pod()),
    Case(says="a budget is a number", object=pod({MIN: "3"})),
    Case(says="a budget is a percentage", object=pod({MAX: "99%"})),
    Case(says="a budget of 0 is refused", object=pod({MIN: "0"}), refused="a positive number"),
    Case(says="a budget of 100% is refused", object=pod({MIN: "100%"}), refused="1% to 99%"),
    Case(says="a budget of words is refused", object=pod({MAX: "all"}), refused="a positive number"),
    Case(says="budgets exclude each other", object=pod({MIN: "1", MAX: "1"}),
         refused="exclude each other"),
    Case(says="other schedulers' pods are not looked at",
         object=pod({MIN: "0"}, schedulerName="default-scheduler")),
    Case(says="an unreadable pod is left to the API server", object={"metadata": 7}),
)  # fmt: skip

CRONJOBS = (
    Case(says="a schedule of five fields", object=cron()),
    Case(says="names, ranges, lists and steps", object=cron(schedule="*/5,7 1-5 1 jan-mar MON")),
    Case(says="a descriptor", object=cron(schedule="@hourly")),
    Case(says="every so often", object=cron(schedule="@every 1h30m")),
    Case(says="an empty schedule is refused", object=cron(schedule=" "), refused="is required"),
    Case(says="a time zone in the schedule is refused", object=cron(schedule="TZ=UTC 0 3 * * *"),
         refused="use spec.timeZone"),
    Case(says="four fields are refused", object=cron(schedule="0 3 * *"), refused="has 4 fields"),
    Case(says="a minute of 60 is refused", object=cron(schedule="60 3 * * *"),
         refused="minute '60' is not between 0 and 59"),
    Case(says="a step of 0 is refused", object=cron(schedule="*/0 3 * * *"), refused="step of 0"),
    Case(says="a range backwards is refused", object=cron(schedule="5-1 3 * * *"),
         refused="ends before it begins"),
    Case(says="an unknown descriptor is refused", object=cron(schedule="@often"),
         refused="is no descriptor"),
    Case(says="every nonsense is refused", object=cron(schedule="@every soon"),
         refused="is not a duration"),
    Case(says="a known time zone", object=cron(timeZone="Europe/Berlin")),
    Case(says="an empty time zone is refused", object=cron(timeZone=""), refused="spec.timeZone"),
    Case(says="the machine's time zone is refused", object=cron(timeZone="Local"),
         refused="must name a time zone"),
    Case(says="an unknown time zone is refused", object=cron(timeZone="Mars/Olympus"),
         refused="is no time zone"),
    Case(says="52 characters are enough for a name", object=cron("n" * 52)),
    Case(says="53 characters are not", object=cron("n" * 53), refused="at most 52"),
    Case(says="policies are known", object=cron(concurrencyPolicy="Maybe"), refused="Allow, Forbid"),
)  # fmt: skip

JOBFLOWS = (
    Case(says="a chain is accepted", object=flow({"name": "a"}, {"name": "b", "dependsOn": {
         "targets": ["a"]}})),
    Case(says="targets exist", object=flow({"name": "a", "dependsOn": {"targets": ["x"]}}),
         refused="flow 'a' waits for a flow that is not in this JobFlow"),
    Case(says="there is no circle", object=flow(
         {"name": "a", "dependsOn": {"targets": ["b"]}},
         {"name": "b", "dependsOn": {"targets": ["a"]}}), refused="in a circle: a → b → a"),
    Case(says="a name may be listed twice", object=flow({"name": "a"}, {"name": "a"})),
    Case(says="entries of one name are one step", object=flow(
         {"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b"}, {"name": "a"})),
    Case(says="the targets of all entries of a name count", object=flow(
         {"name": "a", "dependsOn": {"targets": ["b"]}},
         {"name": "b", "dependsOn": {"targets": ["a"]}}, {"name": "a"}),
         refused="in a circle: a → b → a"),
    Case(says="an unknown target of the first entry counts", object=flow(
         {"name": "a", "dependsOn": {"targets": ["c"]}}, {"name": "a"}), refused='"c"'),
    Case(says="retain policies are known", object=flow({"name": "a"}, jobRetainPolicy="burn"),
         refused="retain or delete"),
)  # fmt: skip

HYPERNODES = (
    Case(says="an exact name", object=hypernode(member({"exactMatch": {"name": "n1"}}))),
    Case(says="a pattern", object=hypernode(member({"regexMatch": {"pattern": "n-[0-9]+"}}))),
    Case(says="labels of nodes", object=hypernode(member({"labelMatch": {}}))),
    Case(says="members are needed", object=hypernode(), refused="at least one member"),
    Case(says="a broken pattern", object=hypernode(member({"regexMatch": {"pattern": "n-["}})),
         refused="is no regular expression"),
    Case(says="no selector", object=hypernode(member({})), refused="needs exactly one of"),
    Case(says="two selectors",
         object=hypernode(member({"exactMatch": {"name": "n"}, "regexMatch": {"pattern": "n"}})),
         refused="it has exactMatch and regexMatch"),
    Case(says="labels of hypernodes", object=hypernode(member({"labelMatch": {}}, "HyperNode")),
         refused="selects nodes only"),
    Case(says="an unknown type", object=hypernode(member({"exactMatch": {"name": "n"}}, "Rack")),
         refused="must be Node or HyperNode"),
    Case(says="a negative tier", object=hypernode(member({"labelMatch": {}}), tier=-1),
         refused="spec.tier"),
)  # fmt: skip

TABLE = [
    pytest.param(path, case, id=f"{path}: {case.says}")
    for path, cases in (
        ("/podgroups/validate", PODGROUPS),
        ("/pods/validate", PODS),
        ("/cronjobs/validate", CRONJOBS),
        ("/jobflows/validate", JOBFLOWS),
        ("/hypernodes/validate", HYPERNODES),
    )
    for case in cases
]


@pytest.mark.parametrize(("path", "case"), TABLE)
def test_rule(path: str, case: Case) -> None:
    assert_answers(ask(path, case.object, KNOWN), case.refused)


def test_the_jobs_of_a_cronjob_are_warned_of() -> None:
    broken = cron(jobTemplate={"spec": {"tasks": []}})
    response = ask("/cronjobs/validate", broken, KNOWN)
    assert response.allowed
    assert "No task specified" in response.warnings[0]


def test_a_namespace_names_the_queue_of_its_groups() -> None:
    patch = ask("/podgroups/mutate", group(queue="default"), KNOWN, namespace="team").patch
    assert patch == [{"op": "replace", "path": "/spec/queue", "value": "team-queue"}]
    assert ask("/podgroups/mutate", group(queue="other"), KNOWN, namespace="team").patch == []
    assert ask("/podgroups/mutate", group(queue="default"), KNOWN, namespace="ml").patch == []


GATE = "scheduling.volcano.sh/queue-allocation-gate"


def test_a_pod_may_ask_for_the_gate() -> None:
    patch = ask("/pods/mutate", pod({GATE: "true"}), KNOWN).patch
    assert patch == [{"op": "add", "path": "/spec/schedulingGates", "value": [{"name": GATE}]}]
    assert ask("/pods/mutate", pod({GATE: "true"}), world()).patch == []
    assert ask("/pods/mutate", pod(), KNOWN).patch == []


GROUPS = """
resourceGroups:
- resourceGroup: management
  object: {key: namespace, value: [mng]}
  schedulerName: volcano
  labels: {role: management}
  tolerations: [{key: a, operator: Exists}]
  affinity: '{"nodeAffinity": {}}'
- resourceGroup: gpu
  object: {key: annotation, value: ["team: vision"]}
  labels: {role: gpu}
- resourceGroup: named
  labels: {role: named}
"""


@pytest.mark.parametrize(
    ("namespace", "annotations", "role"),
    [
        ("mng", {}, "management"),
        ("ml", {"team": "vision"}, "gpu"),
        ("ml", {"volcano.sh/resource-group": "named"}, "named"),
        ("ml", {}, None),
    ],
)
def test_the_first_matching_resource_group_steers_a_pod(
    namespace: str, annotations: dict[str, str], role: str | None
) -> None:
    known = msgspec.structs.replace(KNOWN, resource_groups=parse_resource_groups(GROUPS))
    patch = ask("/pods/mutate", pod(annotations), known, namespace=namespace).patch
    added = {operation["path"]: operation["value"] for operation in patch}
    assert added.get("/spec/nodeSelector") == ({"role": role} if role else None)
    if namespace == "mng":
        assert added["/spec/tolerations"] == [{"key": "a", "operator": "Exists"}]
        assert added["/spec/affinity"] == {"nodeAffinity": {}}


@pytest.mark.parametrize(
    "text", ["resourceGroups: 7", ": :", "resourceGroups: [{affinity: '{'}]", "x" * 300_000]
)
def test_unreadable_resource_groups_say_why(text: str) -> None:
    with pytest.raises(ResourceGroupsError):
        parse_resource_groups(text)


def test_a_flow_that_lists_a_name_twice_is_warned() -> None:
    response = ask("/jobflows/validate", flow({"name": "a"}, {"name": "a"}), KNOWN)
    assert response.allowed
    said = "spec.flows[1].name: 'a' is listed before: both entries are one step"
    assert sum(warning.startswith(said) for warning in response.warnings) == 1
    once = ask("/jobflows/validate", flow({"name": "a"}, {"name": "b"}), KNOWN)
    assert not any("is listed before" in warning for warning in once.warnings)


@pytest.mark.parametrize("limits", ["x", ["x"], 7, {"nvidia.com/gpu": []}, True])
@pytest.mark.parametrize("path", ["/jobs/mutate", "/jobs/validate"])
def test_odd_limits_are_refused_with_a_sentence(path: str, limits: object) -> None:
    """They were an answer of 500."""
    resources = {"requests": {"nvidia.com/gpu": 1}, "limits": limits}
    container = {"name": "c", "image": "i", "resources": resources}
    template = {"spec": {"containers": [container]}}
    obj = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "odd"},
        "spec": {"minAvailable": 1, "tasks": [{"name": "w", "replicas": 1, "template": template}]},
    }
    request = ReviewRequest(uid="u", operation="CREATE", namespace="default", object=obj)
    reviewed = review(request, World(), endpoint=BY_PATH[path])
    assert reviewed.fault == ""
    if path == "/jobs/validate":
        assert not reviewed.allowed
        assert "limits" in reviewed.message

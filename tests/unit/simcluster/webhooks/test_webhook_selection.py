"""Which writes reach a webhook: rules, selectors and match conditions, and in which order.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#webhook-configuration
"""

import msgspec
import pytest

from tests.unit.simcluster.webhooks.hook import GROUP, RULE, Hook, Register
from vc.cluster.errors import ServerError
from vc.model.api.kinds import CONFIGMAPS
from vc.model.api.struct import Json, JsonObject
from vc.simcluster.apply.patches import MERGE_PATCH
from vc.simcluster.schema.builtin_resources import NAMESPACES, PODS
from vc.simcluster.store.resource import Resource
from vc.simcluster.verbs.admission import AdmissionRequest
from vc.simcluster.verbs.api import Api
from vc.simcluster.webhooks.match_conditions import ConditionError, holds
from vc.simcluster.webhooks.rules import namespace_matches, object_matches, rules_match

JOBS = Resource(
    group="batch.example.com", version="v1", kind="Job", plural="jobs", singular="job",
    namespaced=True, custom=True,
)  # fmt: skip
RACKS = Resource(
    group="batch.example.com", version="v1", kind="Rack", plural="racks", singular="rack",
    namespaced=False, custom=True,
)  # fmt: skip


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a rule for the creation of jobs, and whether it matches a request."""

    id: str
    rule: JsonObject = {}
    resource: Resource = JOBS
    operation: str = "CREATE"
    subresource: str = ""
    matches: bool = True


RULES = [
    Rule(id="the rule as it is"),
    Rule(id="another operation", operation="UPDATE", matches=False),
    Rule(id="one of several operations", rule={"operations": ["UPDATE", "CREATE"]}),
    Rule(id="any operation", rule={"operations": ["*"]}, operation="DELETE"),
    Rule(id="no operation", rule={"operations": []}, matches=False),
    Rule(id="another group", rule={"apiGroups": ["apps"]}, matches=False),
    Rule(id="the core group is no wildcard", rule={"apiGroups": [""]}, matches=False),
    Rule(id="the core group", rule={"apiGroups": [""], "resources": ["pods"]}, resource=PODS),
    Rule(id="any group", rule={"apiGroups": ["*"]}),
    Rule(id="another version", rule={"apiVersions": ["v2"]}, matches=False),
    Rule(id="any version", rule={"apiVersions": ["*"]}),
    Rule(id="another resource", rule={"resources": ["queues"]}, matches=False),
    Rule(id="any resource", rule={"resources": ["*"]}),
    Rule(id="no resource", rule={"resources": []}, matches=False),
    Rule(id="a resource does not match its subresource", subresource="status", matches=False),
    Rule(id="any resource matches no subresource", rule={"resources": ["*"]}, subresource="status", matches=False),
    Rule(id="a named subresource", rule={"resources": ["jobs/status"]}, subresource="status"),
    Rule(id="a named subresource is not the object", rule={"resources": ["jobs/status"]}, matches=False),
    Rule(id="another subresource", rule={"resources": ["jobs/scale"]}, subresource="status", matches=False),
    Rule(id="any subresource of jobs", rule={"resources": ["jobs/*"]}, subresource="status"),
    Rule(id="any subresource of another kind", rule={"resources": ["queues/*"]}, subresource="status", matches=False),
    Rule(id="the status of any kind", rule={"resources": ["*/status"]}, subresource="status"),
    Rule(id="the status of any kind is not its scale", rule={"resources": ["*/status"]}, subresource="scale", matches=False),
    Rule(id="everything matches a subresource", rule={"resources": ["*/*"]}, subresource="scale"),
    Rule(id="everything matches the object", rule={"resources": ["*/*"]}),
    Rule(id="namespaced scope", rule={"scope": "Namespaced"}),
    Rule(id="cluster scope for a namespaced kind", rule={"scope": "Cluster"}, matches=False),
    Rule(id="cluster scope", rule={"scope": "Cluster", "resources": ["racks"]}, resource=RACKS),
    Rule(id="namespaced scope for a cluster-scoped kind", rule={"scope": "Namespaced", "resources": ["racks"]}, resource=RACKS, matches=False),
    Rule(id="any scope", rule={"scope": "*"}),
]  # fmt: skip


@pytest.mark.parametrize("case", RULES, ids=lambda case: case.id)
def test_the_rules_of_a_webhook(case: Rule) -> None:
    rule = {
        "operations": ["CREATE"], "apiGroups": ["batch.example.com"], "apiVersions": ["v1"],
        "resources": ["jobs"], **case.rule,
    }  # fmt: skip
    request = AdmissionRequest(
        operation=case.operation, resource=case.resource, name="x", subresource=case.subresource
    )
    assert rules_match({"rules": [rule]}, request) is case.matches
    # One matching rule of several is enough.
    other = {**rule, "resources": ["none"]}
    assert rules_match({"rules": [other, rule]}, request) is case.matches


def test_a_webhook_without_rules_matches_nothing() -> None:
    request = AdmissionRequest(operation="CREATE", resource=JOBS, name="x")
    assert not rules_match({}, request)


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """A label selector, the labels that it is applied to, and whether they match."""

    id: str
    selector: Json
    labels: dict[str, str] = {}
    matches: bool = True


def expression(key: str, operator: str, *values: str) -> JsonObject:
    found: JsonObject = {"key": key, "operator": operator}
    return {"matchExpressions": [found | ({"values": list(values)} if values else {})]}


SELECTORS = [
    Selector(id="no selector", selector=None),
    Selector(id="an empty selector", selector={}),
    Selector(id="the label", selector={"matchLabels": {"a": "1"}}, labels={"a": "1", "b": "2"}),
    Selector(id="another value", selector={"matchLabels": {"a": "1"}}, labels={"a": "2"}, matches=False),
    Selector(id="no label", selector={"matchLabels": {"a": "1"}}, matches=False),
    Selector(id="one of two labels", selector={"matchLabels": {"a": "1", "b": "2"}}, labels={"a": "1"}, matches=False),
    Selector(id="in", selector=expression("a", "In", "1", "2"), labels={"a": "2"}),
    Selector(id="not in the values of in", selector=expression("a", "In", "1"), labels={"a": "2"}, matches=False),
    Selector(id="in needs the label", selector=expression("a", "In", "1"), matches=False),
    Selector(id="not in", selector=expression("a", "NotIn", "1"), labels={"a": "2"}),
    Selector(id="not in matches an absent label", selector=expression("a", "NotIn", "1")),
    Selector(id="one of the values of not in", selector=expression("a", "NotIn", "1"), labels={"a": "1"}, matches=False),
    Selector(id="exists", selector=expression("a", "Exists"), labels={"a": ""}),
    Selector(id="exists needs the label", selector=expression("a", "Exists"), matches=False),
    Selector(id="does not exist", selector=expression("a", "DoesNotExist")),
    Selector(id="does not exist, but it does", selector=expression("a", "DoesNotExist"), labels={"a": "1"}, matches=False),
]  # fmt: skip


@pytest.mark.parametrize("case", SELECTORS, ids=lambda case: case.id)
def test_the_object_selector_sees_both_states(case: Selector) -> None:
    webhook = {"objectSelector": case.selector}
    labelled: JsonObject = {"metadata": {"labels": case.labels}}
    created = AdmissionRequest(operation="CREATE", resource=JOBS, name="x", object=labelled)
    deleted = AdmissionRequest(operation="DELETE", resource=JOBS, name="x", old_object=labelled)
    assert object_matches(webhook, created) is case.matches
    assert object_matches(webhook, deleted) is case.matches


@pytest.mark.parametrize("case", SELECTORS, ids=lambda case: case.id)
def test_the_namespace_selector(case: Selector) -> None:
    webhook = {"namespaceSelector": case.selector}
    assert namespace_matches(webhook, case.labels) is case.matches
    # An object outside of namespaces is never excluded.
    assert namespace_matches(webhook, None)


async def create(api: Api, name: str = "c", *, namespace: str = "default") -> JsonObject:
    resource = api.registry.for_kind(CONFIGMAPS)
    return await api.create(resource, {"metadata": {"name": name}}, namespace=namespace)


async def test_a_namespace_selector_follows_the_labels_of_the_namespace(
    api: Api, hook: Hook, register: Register
) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "team"}})
    await register(namespaceSelector={"matchLabels": {"checked": "yes"}})
    await create(api, "before", namespace="team")
    patch = {"metadata": {"labels": {"checked": "yes"}}}
    await api.patch(NAMESPACES, patch, content_type=MERGE_PATCH, name="team")
    await create(api, "after", namespace="team")
    await create(api, "elsewhere")
    assert [(asked["namespace"], asked["name"]) for asked in hook.asked] == [("team", "after")]


async def test_mutating_webhooks_come_in_the_order_of_their_configurations(
    api: Api, hook: Hook, url: str, register: Register
) -> None:
    resource = api.registry.lookup(GROUP, "v1", "mutatingwebhookconfigurations")
    for name in ("b", "a"):
        webhooks = [
            {"name": f"{name}{number}.example.com", "clientConfig": {"url": url}, "rules": [RULE],
             "matchConditions": [{"name": "once", "expression": "!has(object.data) || !('n' in object.data)"}]}
            for number in (1, 2)
        ]  # fmt: skip
        await api.create(resource, {"metadata": {"name": name}, "webhooks": webhooks})
    hook.patches({"op": "add", "path": "/data", "value": {"n": "1"}})
    # The first webhook of configuration `a` patches, so the conditions of the others are false.
    assert (await create(api))["data"] == {"n": "1"}
    assert len(hook.asked) == 1


async def test_the_validating_webhook_sees_the_mutated_object(
    api: Api, hook: Hook, register: Register
) -> None:
    await register("Mutating")
    await register("Validating")
    hook.patches({"op": "add", "path": "/data", "value": {"n": "1"}})
    await create(api)
    assert [asked["object"].get("data") for asked in hook.asked] == [None, {"n": "1"}]


async def test_a_webhook_that_is_deleted_is_no_longer_called(
    api: Api, hook: Hook, register: Register
) -> None:
    await register()
    await create(api, "one")
    resource = api.registry.lookup(GROUP, "v1", "validatingwebhookconfigurations")
    await api.delete_collection(resource)
    await create(api, "two")
    assert [asked["name"] for asked in hook.asked] == ["one"]


_VARIABLES: JsonObject = {
    "object": {
        "metadata": {"name": "job-1", "labels": {"a": "1"}},
        "spec": {"replicas": 3, "tags": ["x", "y"], "queue": ""},
    },
    "oldObject": None,
    "request": {"operation": "UPDATE", "userInfo": {"username": "alice", "groups": ["dev"]}},
}


class Condition(msgspec.Struct, frozen=True):
    """An expression and its value. None means that it cannot be evaluated."""

    expression: str
    value: bool | None


CONDITIONS = [
    Condition("object.metadata.name.startsWith('job-')", True),
    Condition("object.metadata.name.endsWith('-2')", False),
    Condition("object.metadata.name.contains('b-')", True),
    Condition("object.spec.replicas > 2", True),
    Condition("object.spec.replicas <= 2", False),
    Condition("object.spec.tags[0] == 'x'", True),
    Condition("object.spec.tags[1] != 'y'", False),
    Condition("object.spec.tags[2] == 'z'", None),
    Condition("'x' in object.spec.tags", True),
    Condition("!('z' in object.spec.tags)", True),
    Condition("'dev' in request.userInfo.groups", True),
    Condition('request.userInfo.username == "alice"', True),
    Condition("request.operation == 'CREATE' || request.operation == 'UPDATE'", True),
    Condition("true || false && false", True),
    Condition("(true || false) && false", False),
    Condition("!true || true", True),
    Condition("!(true || true)", False),
    Condition("has(object.spec.queue)", True),
    Condition("has(object.spec.none)", False),
    Condition("has(object.spec.none) && object.spec.none == 'x'", False),
    Condition("oldObject == null", True),
    Condition("oldObject.spec.replicas == 3", None),
    Condition("object.spec.none == 'x'", None),
    Condition("object.spec.replicas == 3 &&", None),
    Condition("object.spec.replicas ==== 3", None),
    Condition("object.spec.replicas", None),
    Condition("'text'", None),
    Condition("unknown == 1", None),
    Condition("size(object.spec.tags) == 2", None),
    Condition("(true", None),
    Condition("true)", None),
]


@pytest.mark.parametrize("case", CONDITIONS, ids=lambda case: case.expression)
def test_the_value_of_a_match_condition(case: Condition) -> None:
    if case.value is None:
        with pytest.raises(ConditionError):
            holds(case.expression, _VARIABLES)
    else:
        assert holds(case.expression, _VARIABLES) is case.value


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Match conditions of a webhook, and what happens to a write."""

    id: str
    expressions: list[str]
    policy: str = "Fail"
    calls: int = 0
    is_refused: bool = False


POLICIES = [
    Policy(id="all conditions are true", expressions=["true", "1 == 1"], calls=1),
    Policy(id="one condition is false", expressions=["true", "false"]),
    Policy(id="a false condition before an error decides", expressions=["false", "object.x.y == 1"]),
    Policy(id="an error with the policy Fail refuses", expressions=["object.x.y == 1"], is_refused=True),
    Policy(id="an error with the policy Ignore skips", expressions=["object.x.y == 1"], policy="Ignore"),
]  # fmt: skip


@pytest.mark.parametrize("case", POLICIES, ids=lambda case: case.id)
async def test_match_conditions_decide_whether_a_webhook_is_called(
    api: Api, hook: Hook, register: Register, case: Policy
) -> None:
    conditions = [
        {"name": f"c{number}", "expression": text} for number, text in enumerate(case.expressions)
    ]
    await register(matchConditions=conditions, failurePolicy=case.policy)
    if case.is_refused:
        with pytest.raises(ServerError, match="failed calling webhook"):
            await create(api)
    else:
        await create(api)
    assert len(hook.asked) == case.calls

"""The definitions in deploy/crds: what an API server needs of them, and that they agree."""

from typing import Final

import pytest

from vc.model.api.struct import Json, JsonObject
from vc.simcluster.schema.registry import load_crds
from vc.simcluster.schema.validation import validate

_CRDS: Final = {crd["spec"]["names"]["kind"]: crd for crd in load_crds()}


_EXACT_NAME: Final = "spec.members[0].selector.exactMatch.name"


def _exactly(name: str) -> JsonObject:
    """A member by name."""
    return {"type": "Node", "selector": {"exactMatch": {"name": name}}}


def _schema(kind: str) -> JsonObject:
    schema: JsonObject = _CRDS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _nodes(schema: JsonObject, path: str = "") -> list[tuple[str, JsonObject]]:
    """Every schema below, with its path, without the branches of anyOf, oneOf and not."""
    found = [(path, schema)]
    for name, below in (schema.get("properties") or {}).items():
        found += _nodes(below, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found += _nodes(schema[key], f"{path}[]")
    return found


def test_every_kind_is_there_with_its_names() -> None:
    names = {k: c["spec"]["names"].get("shortNames", []) for k, c in _CRDS.items()}
    assert names == {
        "Job": ["vcjob", "vj"],
        "CronJob": ["cronvcjob", "cronvj"],
        "Command": [],
        "PodGroup": ["pg", "podgroup-v1beta1"],
        "Queue": ["q", "queue-v1beta1"],
        "JobFlow": ["jf"],
        "JobTemplate": ["jt"],
        "HyperNode": ["hn"],
    }


@pytest.mark.parametrize("kind", sorted(_CRDS))
def test_the_schema_is_structural_and_described(kind: str) -> None:
    for path, schema in _nodes(_schema(kind)):
        is_typed = "type" in schema or schema.get("x-kubernetes-int-or-string")
        assert is_typed, f"{kind}{path} has no type"
        if not path.endswith("[]") and path != ".metadata":  # where an API server allows none
            assert schema.get("description"), f"{kind}{path} has no description"


@pytest.mark.parametrize("kind", sorted(_CRDS))
def test_defaults_pass_their_own_validation(kind: str) -> None:
    for path, schema in _nodes(_schema(kind)):
        if "default" in schema:
            probe = {"type": "object", "properties": {"x": schema}}
            assert not list(validate(probe, {"x": schema["default"]})), f"{kind}{path}"


def test_job_template_and_cron_job_have_the_spec_of_a_job() -> None:
    job = _schema("Job")["properties"]["spec"]
    template = _schema("CronJob")["properties"]["spec"]["properties"]["jobTemplate"]
    assert _schema("JobTemplate")["properties"]["spec"] == job
    assert template["properties"]["spec"] == job


def test_only_pod_groups_and_commands_have_no_status_subresource() -> None:
    without = {
        kind for kind, crd in _CRDS.items() if not crd["spec"]["versions"][0].get("subresources")
    }
    assert without == {"PodGroup", "Command"}


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("Queue", {"weight": 0}, "spec.weight"),
        ("Queue", {"weight": 65536}, "spec.weight"),
        ("Queue", {"dequeueStrategy": "lifo"}, "spec.dequeueStrategy"),
        ("Queue", {"capability": {"cpu": "many"}}, "spec.capability.cpu"),
        ("Queue", {"parent": "No Name"}, "spec.parent"),
        ("Job", {"tasks": []}, "spec.tasks"),
        ("Job", {"minAvailable": -1}, "spec.minAvailable"),
        ("Job", {"minSuccess": 0}, "spec.minSuccess"),
        ("Job", {"queue": "Bad_Name"}, "spec.queue"),
        ("Job", {"schedulerName": "x" * 64}, "spec.schedulerName"),
        ("Job", {"policies": [{"event": "Sneeze"}]}, "spec.policies[0].event"),
        ("Job", {"policies": [{"timeout": "soon"}]}, "spec.policies[0].timeout"),
        ("Job", {"volumes": [{"mountPath": "a:b"}]}, "spec.volumes[0].mountPath"),
        ("Job", {"volumes": [{}]}, "spec.volumes[0].mountPath"),
        ("Job", {"tasks": [{"name": "A"}]}, "spec.tasks[0].name"),
        ("Job", {"networkTopology": {"mode": "firm"}}, "spec.networkTopology.mode"),
        ("PodGroup", {"minMember": -1}, "spec.minMember"),
        (
            "PodGroup",
            {"subGroupPolicy": [{"subGroupSize": 0}]},
            "spec.subGroupPolicy[0].subGroupSize",
        ),
        ("JobFlow", {"jobRetainPolicy": "keep"}, "spec.jobRetainPolicy"),
        ("HyperNode", {"tier": 1, "members": []}, "spec.members"),
        (
            "HyperNode",
            {"tier": 1, "members": [{"type": "Node", "selector": {}}]},
            "spec.members[0].selector",
        ),
        (
            "HyperNode",
            {"tier": 1, "members": [{"type": "HyperNode", "selector": {"labelMatch": {}}}]},
            "spec.members[0]",
        ),
        *(
            ("HyperNode", {"tier": 1, "members": [_exactly(name)]}, _EXACT_NAME)
            for name in ("", "Rack-1", "rack_1", "-rack", "rack-", "a..b", "a.", "n" * 254, "räck")
        ),
    ],
)
def test_what_breaks_a_rule_is_named(kind: str, spec: Json, field: str) -> None:
    faults = list(validate(_schema(kind), {"spec": spec}))
    assert any(fault.field == field for fault in faults), [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Queue", {"capability": {"cpu": 3, "memory": "1.5Gi"}, "parent": "", "weight": 4}),
        ("Job", {"policies": [{"event": "JobUnknown", "action": "AbortJob", "timeout": "1h30m"}]}),
        ("Job", {"tasks": [{"template": {"spec": {"anything": {"goes": 1}}}}], "maxRetry": 0}),
        (
            "HyperNode",
            {"tier": 1, "members": [{"type": "Node", "selector": {"labelMatch": {}}}]},
        ),
        *(
            ("HyperNode", {"tier": 1, "members": [_exactly(name)]})
            for name in ("n", "0", "node-1.rack-2.example.com", "n" * 253)
        ),
    ],
)
def test_what_keeps_the_rules_is_taken(kind: str, spec: Json) -> None:
    assert not list(validate(_schema(kind), {"spec": spec}))

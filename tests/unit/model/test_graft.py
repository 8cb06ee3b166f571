"""Changing an object keeps what we do not know of it."""

import msgspec
import pytest

from vc.model.api.graft import apply_merge_patch, graft, merge_patch, strip_nulls, to_json
from vc.model.api.job import Job
from vc.model.api.meta import ObjectMeta
from vc.model.api.pod import Pod, PodSpec
from vc.model.api.struct import Json, JsonObject

RAW: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "1"}, "managedFields": [{"manager": "kubectl"}]},
    "spec": {
        "dnsPolicy": "ClusterFirst",
        "containers": [
            {"name": "one", "image": "i1", "env": [{"name": "SECRET", "value": "x"}]},
            {"name": "two", "image": "i2", "args": ["--flag"]},
        ],
        "tolerations": [
            {"key": "a", "unknownOfA": 1},
            {"key": "b", "unknownOfB": 2},
            {"key": "c", "unknownOfC": 3},
        ],
    },
    "status": {"podIP": "10.0.0.1", "phase": "Running"},
}


def changed(**spec: object) -> JsonObject:
    """RAW after a read, a change of the spec and a write."""
    before = msgspec.convert(RAW, Pod)
    after = msgspec.structs.replace(before, spec=msgspec.structs.replace(before.spec, **spec))
    return graft(RAW, before, after)


def pod_spec() -> PodSpec:
    return msgspec.convert(RAW, Pod).spec


def test_no_change_is_no_change() -> None:
    assert changed() == RAW


def test_a_changed_field_leaves_all_others() -> None:
    grown = changed(node_name="n1")
    assert grown["spec"].pop("nodeName") == "n1"
    assert grown == RAW


def test_containers_are_matched_by_name_when_their_order_changes() -> None:
    one, two = pod_spec().containers
    newer = msgspec.structs.replace(two, image="i3")
    grown = changed(containers=[newer, one])["spec"]["containers"]
    assert grown[0] == {"name": "two", "image": "i3", "args": ["--flag"]}
    assert grown[1] == RAW["spec"]["containers"][0]


def test_a_new_container_inherits_nothing() -> None:
    one, two = pod_spec().containers
    new = msgspec.structs.replace(one, name="new")
    grown = changed(containers=[new, one, two])["spec"]["containers"]
    assert grown[0] == {"name": "new", "image": "i1"}
    assert grown[1:] == RAW["spec"]["containers"]


def test_removing_an_element_without_a_name_moves_no_unknown_fields() -> None:
    _, b, c = pod_spec().tolerations
    grown = changed(tolerations=[b, c])["spec"]["tolerations"]
    assert grown == RAW["spec"]["tolerations"][1:]


def test_inserting_an_element_without_a_name_moves_no_unknown_fields() -> None:
    a, b, c = pod_spec().tolerations
    new = msgspec.structs.replace(a, key="new")
    grown = changed(tolerations=[new, a, b, c])["spec"]["tolerations"]
    assert grown == [{"key": "new"}, *RAW["spec"]["tolerations"]]


def test_changing_an_element_without_a_name_keeps_its_unknown_fields() -> None:
    a, b, c = pod_spec().tolerations
    grown = changed(tolerations=[a, msgspec.structs.replace(b, effect="NoExecute"), c])
    assert grown["spec"]["tolerations"][1] == {"key": "b", "effect": "NoExecute", "unknownOfB": 2}


def test_a_field_set_back_to_its_default_disappears() -> None:
    grown = changed(containers=[])
    assert "containers" not in grown["spec"]
    assert grown["spec"]["dnsPolicy"] == "ClusterFirst"


def test_a_removed_label_disappears() -> None:
    before = msgspec.convert(RAW, Pod)
    metadata = msgspec.structs.replace(before.metadata, labels={"b": "2"})
    grown = graft(RAW, before, msgspec.structs.replace(before, metadata=metadata))
    assert grown["metadata"]["labels"] == {"b": "2"}
    assert grown["metadata"]["managedFields"] == [{"manager": "kubectl"}]


def test_the_raw_object_is_not_touched() -> None:
    copy = msgspec.json.decode(msgspec.json.encode(RAW))
    changed(node_name="n1", containers=[])
    assert copy == RAW


def test_templates_are_carried_whole() -> None:
    raw: JsonObject = {
        "metadata": {"name": "j"},
        "spec": {"tasks": [{"name": "w", "template": {"spec": {"x": [1, {"y": None}]}}, "odd": 1}]},
    }
    before = msgspec.convert(raw, Job)
    task = msgspec.structs.replace(before.spec.tasks[0], replicas=4)
    after = msgspec.structs.replace(before, spec=msgspec.structs.replace(before.spec, tasks=[task]))
    grown = graft(raw, before, after)
    assert grown["spec"]["tasks"] == [{**raw["spec"]["tasks"][0], "replicas": 4}]


class PatchCase(msgspec.Struct, frozen=True):
    """Two values and the patch between them."""

    id: str
    before: Json
    after: Json
    patch: Json


PATCHES = [
    PatchCase("equal objects need none", {"a": 1}, {"a": 1}, {}),
    PatchCase("a new member", {}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    PatchCase("a changed member", {"a": 1, "b": 2}, {"a": 3, "b": 2}, {"a": 3}),
    PatchCase("a removed member", {"a": 1, "b": 2}, {"b": 2}, {"a": None}),
    PatchCase("deep inside", {"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
    PatchCase("lists are replaced whole", {"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
    PatchCase("an object for a value", {"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    PatchCase("a value for an object", {"a": {"b": 1}}, {"a": 1}, {"a": 1}),
    PatchCase("an object emptied", {"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
]


@pytest.mark.parametrize("case", PATCHES, ids=lambda case: case.id)
def test_merge_patches(case: PatchCase) -> None:
    assert merge_patch(case.before, case.after) == case.patch
    assert apply_merge_patch(case.before, case.patch) == case.after


def test_rfc_7396_examples() -> None:
    assert apply_merge_patch({"a": "b", "b": "c"}, {"a": None}) == {"b": "c"}
    assert apply_merge_patch({"a": ["b"]}, {"a": "c"}) == {"a": "c"}
    assert apply_merge_patch(["a", "b"], ["c", "d"]) == ["c", "d"]
    assert apply_merge_patch({"e": None}, {"a": 1}) == {"e": None, "a": 1}
    assert apply_merge_patch([1, 2], {"a": "b", "c": None}) == {"a": "b"}
    assert apply_merge_patch({}, {"a": {"bb": {"ccc": None}}}) == {"a": {"bb": {}}}


def test_nulls_of_go_clients_mean_nothing() -> None:
    read = {"metadata": {"creationTimestamp": None, "name": "j"}, "spec": [{"a": None}, None]}
    assert strip_nulls(read) == {"metadata": {"name": "j"}, "spec": [{}, None]}


def test_a_struct_as_json_leaves_its_defaults_out() -> None:
    assert to_json(Pod(metadata=ObjectMeta(name="p"))) == {"metadata": {"name": "p"}}

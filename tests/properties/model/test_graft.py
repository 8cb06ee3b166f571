"""Patches lead where they say, and a graft loses nothing that nobody asked to change."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from vc.model.api.graft import apply_merge_patch, graft, merge_patch, to_json
from vc.model.api.pod import Pod, PodSpec, Toleration
from vc.model.api.struct import Json, JsonObject

LEAVES = st.integers(-5, 5) | st.text(max_size=3)
NAMES = st.sampled_from("abcd")
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)


@given(before=OBJECTS, after=OBJECTS)
def test_a_patch_leads_from_before_to_after(before: Json, after: Json) -> None:
    assert apply_merge_patch(before, merge_patch(before, after)) == after


@given(before=OBJECTS, after=OBJECTS)
def test_a_patch_applied_twice_is_applied_once(before: Json, after: Json) -> None:
    patch = merge_patch(before, after)
    assert apply_merge_patch(apply_merge_patch(before, patch), patch) == after


@given(value=OBJECTS)
def test_no_difference_is_an_empty_patch(value: Json) -> None:
    assert merge_patch(value, value) == {}


SPECS = st.builds(
    PodSpec,
    node_name=st.sampled_from(["", "n1", "n2"]),
    node_selector=st.dictionaries(NAMES, st.text(max_size=2), max_size=3),
    tolerations=st.lists(st.builds(Toleration, key=st.sampled_from("abcdef")), max_size=4),
    host_network=st.booleans(),
)


def with_unknown(value: Json, path: str = "") -> Json:
    """Every object gets a member that no struct declares, named after its place."""
    if isinstance(value, dict):
        grown = {key: with_unknown(member, f"{path}/{key}") for key, member in value.items()}
        undeclared = path.endswith(("/nodeSelector", "/labels"))
        return grown if undeclared else {**grown, "xUnknown": path}
    if isinstance(value, list):
        return [with_unknown(member, f"{path}/{n}") for n, member in enumerate(value)]
    return value


def without_unknown(value: Json) -> Json:
    if isinstance(value, dict):
        return {k: without_unknown(v) for k, v in value.items() if k != "xUnknown"}
    return [without_unknown(v) for v in value] if isinstance(value, list) else value


def empty_removed(value: JsonObject) -> JsonObject:
    """A struct leaves out what is empty; a raw object may keep it."""
    return {k: v for k, v in value.items() if v not in ({}, [])}


@given(before=SPECS, after=SPECS)
def test_a_graft_is_the_change_and_nothing_else(before: PodSpec, after: PodSpec) -> None:
    raw = with_unknown({"spec": {}} | to_json(Pod(spec=before)))
    grown = graft(raw, msgspec.convert(raw, Pod), Pod(spec=after))
    assert msgspec.convert(grown, Pod) == Pod(spec=after)
    assert empty_removed(without_unknown(grown)) == empty_removed(to_json(Pod(spec=after)))
    assert grown["xUnknown"] == ""
    if before != PodSpec() and after != PodSpec():
        assert grown["spec"]["xUnknown"] == "/spec"


@given(spec=SPECS)
def test_a_graft_without_a_change_is_the_raw_object(spec: PodSpec) -> None:
    raw = with_unknown(to_json(Pod(spec=spec)))
    read = msgspec.convert(raw, Pod)
    assert graft(raw, read, read) == raw

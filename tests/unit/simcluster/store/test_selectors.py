"""Label and field selectors, as a table over three pods."""

import msgspec
import pytest

from vc.cluster.errors import BadRequestError
from vc.simcluster.schema.builtin_resources import EVENTS, EVENTS_V1, NODES, PODS
from vc.simcluster.store.fields import field_values
from vc.simcluster.store.resource import Resource
from vc.simcluster.store.selectors import FIELD_TERMS_MAX, select
from vc.simcluster.store.store import Record


def record(name: str, **labels: str) -> Record:
    spec = {"nodeName": "n1" if name == "a" else "", "schedulerName": "volcano"}
    obj = {"spec": spec, "status": {"phase": "Running" if name == "a" else "Pending"}}
    fields = field_values(PODS, obj)
    return Record(
        namespace="ns" if name != "c" else "other",
        name=name, uid=name, version=1, raw=b"{}", labels=labels, fields=fields,
    )  # fmt: skip


PODS_SEEN = [record("a", app="web", tier="1"), record("b", app="db"), record("c", app="web")]


class Case(msgspec.Struct, frozen=True):
    """What is asked for, and who is it."""

    id: str
    names: str
    labels: str = ""
    fields: str = ""
    namespace: str = ""


CASES = [
    Case("nothing asked takes all", "abc"),
    Case("one namespace", "ab", namespace="ns"),
    Case("a label equals", "ac", labels="app=web"),
    Case("a label equals, twice the sign", "ac", labels="app==web"),
    Case("a label differs or is absent", "bc", labels="tier!=1"),
    Case("a label exists", "a", labels="tier"),
    Case("a label does not exist", "bc", labels="!tier"),
    Case("a label is one of", "abc", labels="app in (web, db)"),
    Case("a label is none of", "b", labels="app notin (web)"),
    Case("all labels together", "a", labels="app=web,tier"),
    Case("a field equals", "a", fields="spec.nodeName=n1"),
    Case("an empty field is one that is not set", "bc", fields="spec.nodeName="),
    Case("a field differs", "bc", fields="status.phase!=Running"),
    Case("all fields together", "b", fields="status.phase=Pending,metadata.namespace=ns"),
    Case("the name is a field", "b", fields="metadata.name=b"),
    Case("labels and fields and namespace", "", labels="tier", fields="metadata.name=b", namespace="ns"),
    Case("the scheduler's name", "abc", fields="spec.schedulerName=volcano"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_who_is_chosen(case: Case) -> None:
    selection = select(
        PODS, namespace=case.namespace, label_selector=case.labels, field_selector=case.fields
    )
    assert "".join(pod.name for pod in PODS_SEEN if selection.matches(pod)) == case.names


class Bad(msgspec.Struct, frozen=True):
    """A selector that is refused."""

    id: str
    resource: Resource = PODS
    labels: str = ""
    fields: str = ""


BAD_CASES = [
    Bad("labels that cannot be read", labels="a in (b"),
    Bad("a field that this kind has not", fields="spec.unschedulable=true"),
    Bad("a field of no kind", resource=NODES, fields="spec.nodeName=x"),
    Bad("a field without a value", fields="spec.nodeName"),
    Bad("too many fields", fields=",".join(["metadata.name=x"] * (FIELD_TERMS_MAX + 1))),
]


@pytest.mark.parametrize("case", BAD_CASES, ids=lambda case: case.id)
def test_a_selector_nobody_can_answer_is_refused(case: Bad) -> None:
    with pytest.raises(BadRequestError):
        select(case.resource, label_selector=case.labels, field_selector=case.fields)


def test_both_faces_of_events_ask_for_the_same_field() -> None:
    event = {"involvedObject": {"kind": "Pod", "name": "p"}, "reason": "Bound", "type": "Normal"}
    seen = Record(
        namespace="ns", name="e", uid="e", version=1, raw=b"{}", labels={},
        fields=field_values(EVENTS, event),
    )  # fmt: skip
    core = select(
        EVENTS, field_selector="involvedObject.name=p,involvedObject.kind=Pod,type=Normal"
    )
    new = select(EVENTS_V1, field_selector="regarding.name=p,reason=Bound")
    assert core.matches(seen)
    assert new.matches(seen)

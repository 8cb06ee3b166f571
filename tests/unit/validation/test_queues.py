"""Each rule of a queue: fields, amounts, annotations, its place in the tree, its end."""

from typing import Any

import msgspec
import pytest

from tests.unit.admission.objects import (
    Case,
    ask,
    assert_answers,
    case_id,
    queue,
    read_queue,
    without,
    world,
)
from vc.model.api.keys import ALLOW_DELETE
from vc.model.api.struct import JsonObject
from vc.model.compat import Compat


def annotated(name: str, path: str, weights: str) -> JsonObject:
    raw = queue(name)
    raw["metadata"]["annotations"] = {
        "volcano.sh/hierarchy": path,
        "volcano.sh/hierarchy-weights": weights,
    }
    return raw


def with_state(state: str) -> JsonObject:
    return {**queue("q"), "status": {"state": state}}


KNOWN = world(
    read_queue(
        queue(
            "dept",
            capability={"cpu": 10},
            deserved={"cpu": 8},
            guarantee={"resource": {"cpu": 4}},
        )
    ),
    read_queue(
        queue("one", parent="dept", deserved={"cpu": 5}, guarantee={"resource": {"cpu": 2}})
    ),
    read_queue(queue("plain")),
    read_queue(queue("busy"), allocated={"pods": "3"}),
    read_queue(queue("l1")),
    read_queue(queue("l2", parent="l1")),
    read_queue(queue("l3", parent="l2")),
    read_queue(queue("l4", parent="l3")),
    read_queue(queue("l5", parent="l4")),
    read_queue(annotated("leaf", "root/a/b", "1/1/1")),
)

CASES = (
    Case(says="a plain queue is accepted", object=queue("q")),
    Case(says="weight is at least 1", object=queue("q", weight=0), refused="spec.weight: 0"),
    Case(says="weight is at most 65535", object=queue("q", weight=65536), refused="1 to 65535"),
    Case(says="priority is not negative", object=queue("q", priority=-1), refused="spec.priority"),
    Case(says="fifo is a strategy", object=queue("q", dequeueStrategy="fifo")),
    Case(says="lifo is none", object=queue("q", dequeueStrategy="lifo"), refused="fifo or traverse"),
    Case(says="a name is a subdomain", object=queue("Q!"), refused="metadata.name"),
    Case(says="quantities can be read", object=queue("q", capability={"cpu": "much"}),
         refused="spec.capability[cpu]: 'much' is not a quantity"),
    Case(says="quantities are not negative", object=queue("q", deserved={"cpu": "-1"}),
         refused='spec.deserved[cpu]: "-1": must not be negative'),
    Case(says="deserved fits in capability",
         object=queue("q", deserved={"cpu": 5}, capability={"cpu": 4}),
         refused='spec.deserved[cpu]: "5": is more than spec.capability[cpu] 4'),
    Case(says="deserved without capability is fine", object=queue("q", deserved={"cpu": 5})),
    Case(says="a guarantee fits in deserved",
         object=queue("q", deserved={"cpu": 1}, guarantee={"resource": {"cpu": 2}}),
         refused="is more than spec.deserved[cpu] 1"),
    Case(says="a guarantee needs no deserved in lenient mode",
         object=queue("q", guarantee={"resource": {"cpu": 2}})),
    Case(says="a guarantee fits in capability",
         object=queue("q", capability={"cpu": 1}, guarantee={"resource": {"cpu": 2}}),
         refused="is more than spec.capability[cpu] 1"),
    Case(says="one may write Open", object=with_state("Open")),
    Case(says="one may write Closed", object=with_state("Closed")),
    Case(says="one may not write Closing", object=with_state("Closing"),
         refused='status.state: "Closing": must be Open or Closed'),
    Case(says="hierarchy and weights have equal lengths", object=annotated("q", "root/x", "1/2/3"),
         refused="has 2 levels but volcano.sh/hierarchy-weights has 3"),
    Case(says="hierarchy weights are numbers", object=annotated("q", "root/x", "1/two"),
         refused="each weight must be a number above 0"),
    Case(says="hierarchy weights are above 0", object=annotated("q", "root/x", "1/0"),
         refused="each weight must be a number above 0"),
    Case(says="a hierarchy is accepted", object=annotated("q", "root/x", "1/0.5")),
    Case(says="a hierarchy is not above another's", object=annotated("q", "root/a", "1/1"),
         refused="lies above 'root/a/b' of queue 'leaf'"),
    Case(says="a hierarchy may be beside another's", object=annotated("q", "root/ab", "1/1")),
    Case(says="a parent exists", object=queue("q", parent="ghost"),
         refused='spec.parent: "ghost": there is no such queue'),
    Case(says="a queue is not its own parent", object=queue("q", parent="q"),
         refused="a queue cannot be its own parent"),
    Case(says="five levels are allowed", object=queue("q", parent="l4")),
    Case(says="six levels are too many", object=queue("q", parent="l5"),
         refused="makes 6 levels below root; at most 5"),
    Case(says="a queue with pods does not become a parent", object=queue("q", parent="busy"),
         refused="has pods of its own"),
    Case(says="root is always a parent", object=queue("q", parent="root")),
    Case(says="a capability fits in the one above",
         object=queue("q", parent="dept", capability={"cpu": 11}),
         refused="is more than the 10 of queue 'dept' above"),
    Case(says="a capability is looked for further up",
         object=queue("q", parent="one", capability={"cpu": 11}),
         refused="is more than the 10 of queue 'dept' above"),
    Case(says="capabilities are not summed", object=queue("q", parent="dept", capability={"cpu": 10})),
    Case(says="deserved of siblings are summed",
         object=queue("q", parent="dept", deserved={"cpu": 4}),
         refused="together have deserved 9, more than the parent's 8"),
    Case(says="deserved of siblings may fill the parent",
         object=queue("q", parent="dept", deserved={"cpu": 3})),
    Case(says="guarantees of siblings are summed",
         object=queue("q", parent="dept", deserved={"cpu": 3}, guarantee={"resource": {"cpu": 3}}),
         refused="together have guarantee 5, more than the parent's 4"),
    Case(says="what the parent does not name counts as zero",
         object=queue("q", parent="dept", deserved={"nvidia.com/gpu": 1}),
         refused="spec.deserved[nvidia.com/gpu]: the children of queue 'dept'"),
    Case(says="children of root are free",
         object=queue("q", deserved={"cpu": 100}, guarantee={"resource": {"cpu": 50}})),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_create(case: Case) -> None:
    assert_answers(ask("/queues/validate", case.object, KNOWN), case.refused)


def test_upstream_mode_wants_deserved_for_a_guarantee() -> None:
    raw = queue("q", guarantee={"resource": {"cpu": 2}})
    response = ask("/queues/validate", raw, world(compat=Compat.UPSTREAM))
    assert_answers(response, "needs spec.deserved[cpu] of at least as much")


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """A queue before and after."""

    says: str
    old: JsonObject
    new: JsonObject
    refused: str = ""


DEPT: Any = {
    "capability": {"cpu": 10},
    "deserved": {"cpu": 8},
    "guarantee": {"resource": {"cpu": 4}},
}
UPDATES = (
    Update(says="deserved stays above the children's", old=queue("dept", **DEPT),
           new=queue("dept", **{**DEPT, "deserved": {"cpu": 4}}),
           refused="the children of this queue together have deserved 5, more than the parent's 4"),
    Update(says="a guarantee stays above the children's", old=queue("dept", **DEPT),
           new=queue("dept", **{**DEPT, "guarantee": {"resource": {"cpu": 1}}}),
           refused="together have guarantee 2, more than the parent's 1"),
    Update(says="a capability stays above the subtree's", old=queue("top"),
           new=queue("top", capability={"cpu": 2}),
           refused="is less than the 3 of queue 'bottom' below"),
    Update(says="a larger capability is fine", old=queue("top"), new=queue("top", capability={"cpu": 3})),
    Update(says="a queue does not move below itself", old=queue("l1"),
           new=queue("l1", parent="l3"), refused="makes a cycle"),
    Update(says="a moved subtree counts its levels", old=queue("l3", parent="l2"),
           new=queue("l3", parent="one"), refused=""),
    Update(says="a subtree does not move too deep", old=queue("top"),
           new=queue("top", parent="l4"), refused="makes 7 levels below root"),
    Update(says="a moved queue brings its children under the ceilings above", old=queue("top"),
           new=queue("top", parent="narrow"), refused="is less than the 3 of queue 'bottom' below"),
    Update(says="an untouched queue is not checked against the tree",
           old=queue("bad", parent="gone"), new=queue("bad", parent="gone", weight=3)),
    Update(says="the controller's state may stay", old=with_state("Closing"),
           new={**with_state("Closing"), "spec": {"weight": 2}}),
    Update(says="root's capability is protected", old=queue("root"),
           new=queue("root", capability={"cpu": 1}), refused="spec.capability: an object of 1"),
    Update(says="root's weight may change", old=queue("root"), new=queue("root", weight=2)),
)  # fmt: skip

GROWN = KNOWN.with_queues(
    [
        read_queue(queue("narrow", capability={"cpu": 2})),
        read_queue(queue("top")),
        read_queue(queue("middle", parent="top")),
        read_queue(queue("bottom", parent="middle", capability={"cpu": 3})),
    ]
)


@pytest.mark.parametrize("update", UPDATES, ids=case_id)
def test_update(update: Update) -> None:
    response = ask("/queues/validate", update.new, GROWN, old=update.old, operation="UPDATE")
    assert_answers(response, update.refused)


class End(msgspec.Struct, frozen=True, kw_only=True):
    """A queue that is to be deleted."""

    says: str
    name: str
    refused: str = ""
    warned: str = ""
    annotation: str = ""
    compat: Compat = Compat.LENIENT
    check: bool | None = None


ENDS = (
    End(says="default stays", name="default", refused="this queue is always there"),
    End(says="root stays", name="root", refused="this queue is always there"),
    End(says="a queue with children stays", name="dept", refused="delete first: one"),
    End(says="a plain queue may go", name="plain"),
    End(says="a queue with pods stays", name="busy", refused="has 0 unfinished pod groups and 3 allocated pods"),
    End(says="a queue with pod groups stays", name="waiting", refused="has 2 unfinished pod groups and 0 allocated pods"),
    End(says="the way out is named", name="busy", refused="wait for its jobs or delete them, or delete it all the same: vcctl queue delete --force busy"),
    End(says="a queue that was not counted is not deleted", name="uncounted", refused="could not be counted; try again"),
    End(says="a queue with pods goes with the annotation", name="busy", annotation="true"),
    End(says="another value of the annotation is named", name="busy", annotation="yes", refused="volcano.sh/allow-delete is 'yes'"),
    End(says="the annotation does not free children", name="dept", annotation="true", refused="delete first: one"),
    End(says="Volcano deletes a queue in use", name="busy", compat=Compat.UPSTREAM),
    End(says="Volcano's switch keeps one with pods", name="busy", compat=Compat.UPSTREAM, check=True, refused="3 allocated pods"),
    End(says="Volcano's switch does not look at pod groups", name="waiting", compat=Compat.UPSTREAM, check=True, warned="2 unfinished pod groups"),
    End(says="the switch may be off", name="busy", check=False),
)  # fmt: skip


@pytest.mark.parametrize("end", ENDS, ids=case_id)
def test_delete(end: End) -> None:
    settings = msgspec.structs.replace(
        KNOWN.settings, compat=end.compat, allocated_pods_check=end.check
    )
    counted = {"plain": 0, "busy": 0, "dept": 0, "waiting": 2}
    known = msgspec.structs.replace(KNOWN, settings=settings, unfinished_groups=counted)
    old = queue(end.name)
    if end.name in KNOWN.queues:
        old["status"] = {"allocated": KNOWN.queues[end.name].status.allocated}
    old["metadata"]["annotations"] = {ALLOW_DELETE: end.annotation} if end.annotation else {}
    response = ask("/queues/validate", None, known, old=old, operation="DELETE", name=end.name)
    assert_answers(response, end.refused)
    assert end.warned in " ".join(response.warnings)


def test_defaults_of_a_queue() -> None:
    raw = without(without(queue("q"), "spec", "reclaimable"), "spec", "weight")
    assert ask("/queues/mutate", raw).patch == [
        {"op": "add", "path": "/spec/reclaimable", "value": True},
        {"op": "add", "path": "/spec/weight", "value": 1},
    ]
    assert ask("/queues/mutate", queue("q", reclaimable=False, weight=4)).patch == []


def test_a_hierarchy_gets_its_root() -> None:
    patch = ask("/queues/mutate", annotated("q", "a/b", "2/3")).patch
    assert [operation["value"] for operation in patch] == ["root/a/b", "1/2/3"]
    assert patch[0]["path"] == "/metadata/annotations/volcano.sh~1hierarchy"
    assert ask("/queues/mutate", annotated("q", "root/b", "2/3")).patch == []

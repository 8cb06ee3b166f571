"""Whose name a pod group has under which setting, and that a changed setting makes no second one."""

from dataclasses import dataclass

import msgspec
import pytest

from tests.unit.job_controller.builders import (
    NOW,
    UID,
    job,
    observed,
    owner,
    pod,
    podgroup,
)
from vc.job_controller.logic import decide
from vc.job_controller.logic.podgroup import choose_podgroup
from vc.messages.effects import CreateObject, DeleteObject
from vc.model.api import keys
from vc.model.api.kinds import PODGROUPS, PODS
from vc.model.api.pod import Pod
from vc.model.api.scheduling import PodGroup
from vc.model.compat import Compat

UPSTREAM_NAME = f"j-{UID}"


def named(name: str, *, uid: str = "pg-1", of: str = UID, created: str = "") -> PodGroup:
    base = podgroup(uid=uid)
    metadata = msgspec.structs.replace(
        base.metadata,
        name=name,
        owner_references=[owner(of)],
        creation_timestamp=created or None,
    )
    return msgspec.structs.replace(base, metadata=metadata)


def going(group: PodGroup) -> PodGroup:
    metadata = msgspec.structs.replace(group.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(group, metadata=metadata)


def of_group(name: str) -> Pod:
    base = pod(0)
    annotations = {**base.metadata.annotations, keys.GROUP_NAME: name}
    metadata = msgspec.structs.replace(base.metadata, annotations=annotations)
    return msgspec.structs.replace(base, metadata=metadata)


@pytest.mark.parametrize(
    ("compat", "name"), [(Compat.LENIENT, "j"), (Compat.UPSTREAM, UPSTREAM_NAME)]
)
def test_a_new_group_has_the_name_of_the_setting(compat: Compat, name: str) -> None:
    decision = decide(observed(job(""), compat=compat), now=NOW)
    (made,) = [e for e in decision.effects if isinstance(e, CreateObject) and e.kind is PODGROUPS]
    assert made.name == made.body["metadata"]["name"] == name


@pytest.mark.parametrize("compat", list(Compat))
@pytest.mark.parametrize("name", ["j", UPSTREAM_NAME])
def test_a_group_of_either_name_is_kept_and_pods_name_it(compat: Compat, name: str) -> None:
    decision = decide(observed(job(), podgroup=named(name), compat=compat), now=NOW)
    made = [e for e in decision.effects if isinstance(e, CreateObject)]
    assert [e for e in made if e.kind is PODGROUPS] == []
    groups = [e.body["metadata"]["annotations"][keys.GROUP_NAME] for e in made if e.kind is PODS]
    assert groups == [name, name]


@dataclass(frozen=True)
class Case:
    id: str
    groups: tuple[PodGroup, ...]
    chosen: str | None
    superfluous: tuple[str, ...] = ()
    pods: tuple[Pod, ...] = ()


OURS, UPSTREAMS = named("j", created="2026-01-01T00:00:00Z"), named(UPSTREAM_NAME, uid="pg-2", created="2026-01-01T00:00:05Z")  # fmt: skip
CASES = [
    Case("none", (), None),
    Case("ours", (OURS,), "j"),
    Case("Volcano's", (UPSTREAMS,), UPSTREAM_NAME),
    Case("two: the older one stays", (OURS, UPSTREAMS), "j", (UPSTREAM_NAME,)),
    Case("two: the one that pods belong to stays", (OURS, UPSTREAMS), UPSTREAM_NAME, ("j",), (of_group(UPSTREAM_NAME),)),
    Case("two, of which one goes already", (going(OURS), UPSTREAMS), UPSTREAM_NAME),
    Case("one that goes keeps its name until it is gone", (going(OURS),), "j"),
    Case("a leftover of an older job of the name", (named("j", of="older"),), "j"),
    Case("a leftover beside ours", (named("j", of="older"), UPSTREAMS), UPSTREAM_NAME),
    Case("a stranger of another name", (named("k", of="older"),), None),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_group_of_a_job_is_found_by_its_owner(case: Case) -> None:
    chosen, superfluous = choose_podgroup(job(), case.groups, case.pods)
    assert (chosen.metadata.name if chosen else None) == case.chosen
    assert tuple(group.metadata.name for group in superfluous) == case.superfluous


@pytest.mark.parametrize("phase", ["Pending", "Running", "Completed"])
def test_spare_groups_are_deleted(phase: str) -> None:
    seen = observed(job(phase), podgroup=OURS, superfluous_podgroups=(UPSTREAMS,))
    gone = [e.uid for e in decide(seen, now=NOW).effects if isinstance(e, DeleteObject)]
    assert "pg-2" in gone
